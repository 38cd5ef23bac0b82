/** Moves the focus over a grid of sandboxes as the arrow points; whether it did. */
export function walkGrid(key: string): boolean {
  const links = [...document.querySelectorAll<HTMLElement>("[data-sandbox-link]")];
  const here = links.indexOf(document.activeElement as HTMLElement);
  const [first] = links;
  if (here === -1 || first === undefined) return false;
  const topOf = (link: HTMLElement) => link.closest("li")?.offsetTop;
  const columns = links.filter((link) => topOf(link) === topOf(first)).length;
  const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[key];
  const next = step === undefined ? undefined : links[here + step];
  next?.focus();
  return next !== undefined;
}

/** Moves the focus from one listed sandbox to the next. */
export function walkSandboxes(step: 1 | -1): void {
  const links = [...document.querySelectorAll<HTMLElement>("[data-sandbox-link]")];
  const at = links.indexOf(document.activeElement as HTMLElement);
  links[Math.max(0, Math.min(links.length - 1, at + step))]?.focus();
}
