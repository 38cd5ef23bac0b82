/** Which pages are pictured, and what stands on each when it is whole. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Page } from "playwright-core";
import type { DemoWork } from "./demo-work.ts";

export interface DemoIds extends DemoWork {
  readonly sandboxes: readonly string[];
  readonly projectId: string;
  /** Runs in sandboxes of this machine, whose files were kept: the second one goes another way. */
  readonly kept: readonly [string, string];
  /** Where anybody may watch one of them. */
  readonly sharePath: string;
}

export interface Shot {
  readonly name: string;
  readonly path: string;
  /** A text that tells that the page is there. */
  readonly shows: string | RegExp;
  readonly act?: (page: Page) => Promise<void>;
  readonly isLoggedOut?: true;
}

async function find(page: Page, typed: string): Promise<void> {
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Find anything" }).fill(typed);
  await page.getByRole("option").first().waitFor();
}

async function showKeys(page: Page): Promise<void> {
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keyboard" }).waitFor();
}

async function peek(page: Page): Promise<void> {
  await page.locator("[data-sandbox]", { hasText: "passkey" }).getByRole("link").focus();
  await page.keyboard.press("Space");
  await page.getByTestId("peek").getByText("handler.ts").first().waitFor();
}

async function openCommand(page: Page): Promise<void> {
  await page.getByRole("region", { name: "Commands of the agent" }).getByRole("button").last().click();
  await page
    .getByRole("group", { name: /^Output of/ })
    .getByText("14 tests")
    .waitFor();
}

/** The run as a file, from the disk. */
async function openRunFile(page: Page): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "drover-shots-"));
  try {
    const coming = page.waitForEvent("download");
    await page.getByRole("link", { name: "Download page" }).click();
    const file = join(folder, "run.html");
    await (await coming).saveAs(file);
    await page.goto(pathToFileURL(file).href);
    await page.getByTestId("replay").waitFor();
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The newest verdict of the guardian. */
async function openVerdict(page: Page): Promise<void> {
  await page.locator('a[href^="/monitor/guardian/"]').first().click();
  await page.waitForURL(/\/monitor\/guardian\//);
  await page.getByRole("heading", { name: "Verdicts on this run" }).waitFor();
}

const scrollTo = (name: string) => (page: Page) =>
  page.getByRole("region", { name, exact: true }).evaluate((region) => region.scrollIntoView({ block: "nearest" }));

export const listShots = ({
  sandboxes,
  projectId,
  ticketId,
  taskId,
  pullId,
  kept,
  sharePath,
}: DemoIds): readonly Shot[] => [
  { name: "login", path: "/login", shows: "Log in", isLoggedOut: true },
  { name: "wall", path: "/", shows: "passkey" },
  { name: "peek", path: "/", shows: "passkey", act: peek },
  { name: "contrast", path: "/", shows: "passkey", act: (page) => page.emulateMedia({ contrast: "more" }) },
  { name: "sandboxes", path: "/sandboxes", shows: "passkey" },
  { name: "run", path: `/sandboxes/${sandboxes[0] ?? ""}`, shows: "npm test -- auth" },
  { name: "changes", path: `/sandboxes/${kept[0]}?tab=changes&file=src%2Fsession.ts`, shows: "session.ts" },
  { name: "terminal", path: `/sandboxes/${kept[0]}?tab=terminal`, shows: "Commands of the agent", act: openCommand },
  {
    name: "files",
    path: `/sandboxes/${kept[0]}?tab=files&file=%2Fworkspace%2Fsrc%2Fsession.ts&line=4`,
    shows: "Tests after it",
  },
  { name: "messages", path: `/sandboxes/${sandboxes[0] ?? ""}?tab=messages`, shows: "Keep the password form as it is" },
  { name: "timeline", path: `/sandboxes/${kept[0]}?tab=timeline&e=24`, shows: "Replay from here" },
  { name: "git", path: `/sandboxes/${sandboxes[0] ?? ""}?tab=git`, shows: "Commits" },
  { name: "details", path: `/sandboxes/${kept[0]}?tab=details`, shows: "isolation" },
  { name: "replay", path: `/sandboxes/${kept[0]}/replay?at=24&file=src%2Fsession.ts`, shows: "session.ts" },
  { name: "share", path: sharePath, shows: "session.ts", isLoggedOut: true },
  { name: "run-file", path: `/sandboxes/${kept[0]}?tab=details`, shows: "Download page", act: openRunFile },
  { name: "compare", path: `/compare?a=${kept[0]}&b=${kept[1]}`, shows: /They part at/ },
  { name: "compare-files", path: `/compare?a=${kept[0]}&b=${kept[1]}&align=file`, shows: "session.test.ts" },
  { name: "race", path: "/compare?race=true", shows: "Start both" },
  { name: "new-sandbox", path: "/sandboxes/new", shows: "What should the agent do?" },
  { name: "board", path: "/tasks", shows: "Log in with a passkey" },
  { name: "task-board", path: "/tasks?of=tasks", shows: "Endpoints for the login" },
  { name: "task-list", path: "/tasks?view=list", shows: "Endpoints for the login" },
  { name: "graph", path: `/tasks/tickets/${ticketId}`, shows: "What waits for what" },
  { name: "comments", path: `/tasks/tickets/${ticketId}`, shows: "Say something", act: scrollTo("Comments") },
  {
    name: "graph-sheet",
    path: `/tasks?view=graph&project=${projectId}&node=${taskId}`,
    shows: "Others wait for it",
  },
  { name: "task", path: `/tasks/${taskId}`, shows: "Endpoints for the login" },
  { name: "pull-request", path: `/tasks/pulls/${pullId}`, shows: "proof.ts" },
  { name: "monitor", path: "/monitor", shows: "agents at work" },
  { name: "guardian", path: "/monitor?tab=guardian", shows: "Interventions" },
  { name: "verdict", path: "/monitor?tab=guardian", shows: "Interventions", act: openVerdict },
  { name: "conductor", path: "/monitor?tab=conductor", shows: "Analyses" },
  { name: "alerts", path: "/monitor?tab=alerts", shows: "Agents are at work" },
  { name: "stuck", path: "/monitor?tab=stuck", shows: "Prices with tax" },
  { name: "palette", path: "/", shows: "passkey", act: (page) => find(page, "log") },
  { name: "keyboard", path: "/", shows: "passkey", act: showKeys },
  { name: "agent", path: "/agents/claude", shows: "Runs" },
  { name: "agents", path: "/agents", shows: "Scripted" },
  { name: "costs", path: "/costs", shows: "By model" },
  { name: "settings", path: "/settings", shows: "Appearance" },
  { name: "notifications", path: "/settings?section=notifications", shows: "Notifications" },
  { name: "projects", path: "/settings?section=projects", shows: "storefront" },
  { name: "providers", path: "/settings?section=providers", shows: "This machine" },
  { name: "models", path: "/settings?section=models", shows: "Anthropic" },
  { name: "webhooks", path: "/settings?section=webhooks", shows: "New webhook" },
  { name: "access", path: "/settings?section=access", shows: "New token" },
  { name: "anomalies", path: "/monitor?tab=anomalies", shows: "seven days" },
  { name: "supervision", path: "/monitor?tab=passes", shows: "Configuration" },
];
