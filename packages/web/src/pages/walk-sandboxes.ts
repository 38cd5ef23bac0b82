/** Moves the focus from one listed sandbox to the next. */
export function walkSandboxes(step: 1 | -1): void {
  const links = [...document.querySelectorAll<HTMLElement>("[data-sandbox-link]")];
  const at = links.indexOf(document.activeElement as HTMLElement);
  links[Math.max(0, Math.min(links.length - 1, at + step))]?.focus();
}
