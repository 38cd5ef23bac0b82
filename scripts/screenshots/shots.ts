/** Which pages are pictured, and what stands on each when it is whole. */
import type { Page } from "playwright-core";
import type { DemoWork } from "./demo-work.ts";

export interface DemoIds extends DemoWork {
  readonly sandboxes: readonly string[];
  readonly projectId: string;
  /** Runs in sandboxes of this machine, whose files were kept: the second one goes another way. */
  readonly kept: readonly [string, string];
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

async function peek(page: Page): Promise<void> {
  await page.locator("[data-sandbox]", { hasText: "passkey" }).getByRole("link").focus();
  await page.keyboard.press("Space");
  await page.getByTestId("peek").getByText("handler.ts").first().waitFor();
}

export const listShots = ({ sandboxes, projectId, ticketId, taskId, pullId, kept }: DemoIds): readonly Shot[] => [
  { name: "login", path: "/login", shows: "Log in", isLoggedOut: true },
  { name: "wall", path: "/", shows: "passkey" },
  { name: "peek", path: "/", shows: "passkey", act: peek },
  { name: "contrast", path: "/", shows: "passkey", act: (page) => page.emulateMedia({ contrast: "more" }) },
  { name: "sandboxes", path: "/sandboxes", shows: "passkey" },
  { name: "run", path: `/sandboxes/${sandboxes[0] ?? ""}`, shows: "WebAuthn" },
  { name: "changes", path: `/sandboxes/${kept[0]}?tab=changes&file=src%2Fsession.ts`, shows: "session.ts" },
  { name: "terminal", path: `/sandboxes/${kept[0]}?tab=terminal`, shows: "No terminal was recorded yet." },
  {
    name: "files",
    path: `/sandboxes/${kept[0]}?tab=files&file=%2Fworkspace%2Fsrc%2Fsession.ts&line=4`,
    shows: "Tests after it",
  },
  { name: "timeline", path: `/sandboxes/${kept[0]}?tab=timeline`, shows: "Turn" },
  { name: "details", path: `/sandboxes/${kept[0]}?tab=details`, shows: "isolation" },
  { name: "replay", path: `/sandboxes/${kept[0]}/replay?at=24&file=src%2Fsession.ts`, shows: "session.ts" },
  { name: "compare", path: `/compare?a=${kept[0]}&b=${kept[1]}`, shows: /They part at/ },
  { name: "compare-files", path: `/compare?a=${kept[0]}&b=${kept[1]}&align=file`, shows: "session.test.ts" },
  { name: "new-sandbox", path: "/sandboxes/new", shows: "What should the agent do?" },
  { name: "board", path: "/tasks", shows: "Log in with a passkey" },
  { name: "task-board", path: "/tasks?of=tasks", shows: "Endpoints for the login" },
  { name: "graph", path: `/tasks/tickets/${ticketId}`, shows: "What waits for what" },
  {
    name: "graph-sheet",
    path: `/tasks?view=graph&project=${projectId}&node=${taskId}`,
    shows: "Others wait for it",
  },
  { name: "task", path: `/tasks/${taskId}`, shows: "Endpoints for the login" },
  { name: "pull-request", path: `/tasks/pulls/${pullId}`, shows: "proof.ts" },
  { name: "monitor", path: "/monitor", shows: "agents at work" },
  { name: "guardian", path: "/monitor?tab=guardian", shows: "Interventions" },
  { name: "conductor", path: "/monitor?tab=conductor", shows: "Analyses" },
  { name: "alerts", path: "/monitor?tab=alerts", shows: "Agents are at work" },
  { name: "stuck", path: "/monitor?tab=stuck", shows: "Prices with tax" },
  { name: "palette", path: "/", shows: "passkey", act: (page) => find(page, "log") },
  { name: "keyboard", path: "/", shows: "passkey", act: (page) => page.keyboard.press("?") },
  { name: "agent", path: "/agents/claude", shows: "Runs" },
  { name: "agents", path: "/agents", shows: "Scripted" },
  { name: "costs", path: "/costs", shows: "By model" },
  { name: "settings", path: "/settings", shows: "Appearance" },
  { name: "projects", path: "/settings?section=projects", shows: "storefront" },
  { name: "providers", path: "/settings?section=providers", shows: "This machine" },
  { name: "models", path: "/settings?section=models", shows: "Anthropic" },
  { name: "webhooks", path: "/settings?section=webhooks", shows: "New webhook" },
  { name: "access", path: "/settings?section=access", shows: "New token" },
  { name: "anomalies", path: "/monitor?tab=anomalies", shows: "seven days" },
  { name: "supervision", path: "/monitor?tab=passes", shows: "How it is set" },
];
