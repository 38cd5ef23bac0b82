/** WCAG 2.2 AA and good practice, by axe: what a page breaks, one line each. */
import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "playwright-core";

const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** What a page breaks by its colours alone: the rest does not depend on the theme. */
export const findFaintness = (page: Page): Promise<readonly string[]> =>
  analyse(page, (axe) => axe.withRules(["color-contrast", "link-in-text-block"]));

/** By the colours of who asks for more contrast: 7:1 for text. */
export const findFaintnessAtHighContrast = (page: Page): Promise<readonly string[]> =>
  analyse(page, (axe) => axe.withRules(["color-contrast", "color-contrast-enhanced"]));

export const findViolations = (page: Page): Promise<readonly string[]> => analyse(page, (axe) => axe.withTags(TAGS));

async function analyse(page: Page, choose: (axe: AxeBuilder) => AxeBuilder): Promise<readonly string[]> {
  // The pages are still: a colour in the middle of a transition has no contrast to speak of.
  await page.emulateMedia({ reducedMotion: "reduce" });
  // In the page itself: without frames of other origins there is nothing that a second page would have to put together.
  const { violations } = await choose(new AxeBuilder({ page }).setLegacyMode()).analyze();
  return violations.map(
    (violation) =>
      `${violation.id}: ${violation.nodes.map((node) => `${node.target.join(" ")} ${node.failureSummary}`).join(" | ")}`,
  );
}
