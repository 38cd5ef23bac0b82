/** Moves the focus from one card or line of work to the next. */
export function walkCards(of: "ticket" | "task", step: 1 | -1): void {
  const links = [...document.querySelectorAll<HTMLElement>(`[data-${of}] a`)].filter(
    (link, at, all) => all.findIndex((other) => other.closest(`[data-${of}]`) === link.closest(`[data-${of}]`)) === at,
  );
  const at = links.indexOf(document.activeElement as HTMLElement);
  links[Math.max(0, Math.min(links.length - 1, at + step))]?.focus();
}
