/** Routes. What a page shows is in its address. */
import { ClientError } from "@drover/client";
import { createRootRoute, createRoute, createRouter, Outlet, redirect } from "@tanstack/react-router";
import { lazyPage } from "./app/lazy-page.ts";
import { Shell } from "./app/shell.tsx";
import { watchToken } from "./data/client.ts";
import { awaitFirstLook, forgetFirstLook, openedRun } from "./data/first-look.ts";
import { queryClient, whoamiQuery } from "./data/queries.ts";
import { session } from "./data/session.ts";
import { Failed, NotFound, Opening } from "./pages/fallbacks.tsx";
import {
  parseAgentSearch,
  parseCompareSearch,
  parseCostsSearch,
  parseLoginSearch,
  parseMonitorSearch,
  parseReplaySearch,
  parseRunSearch,
  parseSandboxesSearch,
  parseSettingsSearch,
  parseTicketSearch,
  parseWorkSearch,
} from "./search-params.ts";
import { toTasksAddress } from "./tasks-address.ts";

const root = createRootRoute({ component: Outlet, notFoundComponent: NotFound });

const login = createRoute({
  getParentRoute: () => root,
  path: "/login",
  validateSearch: parseLoginSearch,
  component: lazyPage(() => import("./pages/login.tsx"), "LoginPage"),
});

const inside = createRoute({
  getParentRoute: () => root,
  id: "inside",
  component: Shell,
  beforeLoad: async ({ location }) => {
    // Whoever was here before is let in at once; the first refusal shows the door.
    if (session.wasHere()) return void queryClient.prefetchQuery(whoamiQuery);
    await queryClient.ensureQueryData(whoamiQuery).catch((error: unknown) => {
      // Expected: nobody is logged in. Every other failure is shown by the page.
      if (error instanceof ClientError && error.code === "auth.required") {
        throw redirect({ to: "/login", search: location.href === "/" ? {} : { return: location.href } });
      }
      throw error;
    });
    session.enter();
  },
  pendingComponent: Opening,
  errorComponent: Failed,
});

const loadWall = () => import("./wall/wall-page.tsx");
const loadRunPage = () => import("./pages/run.tsx");
// Most visits begin at one of the two: its part of the page is fetched while the rest starts, and what the run is about with it.
if (location.pathname === "/") void loadWall();
if (openedRun !== undefined) void loadRunPage();

const wall = createRoute({
  getParentRoute: () => inside,
  path: "/",
  component: lazyPage(loadWall, "WallPage"),
});

const sandboxes = createRoute({
  getParentRoute: () => inside,
  path: "/sandboxes",
  validateSearch: parseSandboxesSearch,
  component: lazyPage(() => import("./sandboxes/sandboxes-page.tsx"), "SandboxesPage"),
});

const run = createRoute({
  getParentRoute: () => inside,
  path: "/sandboxes/$sandboxId",
  validateSearch: parseRunSearch,
  loader: ({ params }) => awaitFirstLook(params.sandboxId),
  component: lazyPage(loadRunPage, "RunPage"),
});

const replay = createRoute({
  getParentRoute: () => inside,
  path: "/sandboxes/$sandboxId/replay",
  validateSearch: parseReplaySearch,
  component: lazyPage(() => import("./replay/replay-page.tsx"), "ReplayPage"),
});

const compare = createRoute({
  getParentRoute: () => inside,
  path: "/compare",
  validateSearch: parseCompareSearch,
  component: lazyPage(() => import("./compare/compare-page.tsx"), "ComparePage"),
});

/** Outside of everything that needs a login. */
const share = createRoute({
  getParentRoute: () => root,
  path: "/s/$sandboxId",
  validateSearch: parseReplaySearch,
  component: lazyPage(() => import("./replay/share-page.tsx"), "SharePage"),
});

const newSandbox = createRoute({
  getParentRoute: () => inside,
  path: "/sandboxes/new",
  component: lazyPage(() => import("./create/new-sandbox.tsx"), "NewSandboxPage"),
});

const agents = createRoute({
  getParentRoute: () => inside,
  path: "/agents",
  component: lazyPage(() => import("./agents/agents-page.tsx"), "AgentsPage"),
});

const agent = createRoute({
  getParentRoute: () => inside,
  path: "/agents/$agentName",
  validateSearch: parseAgentSearch,
  component: lazyPage(() => import("./agents/agent-page.tsx"), "AgentPage"),
});

const work = createRoute({
  getParentRoute: () => inside,
  path: "/tasks",
  validateSearch: parseWorkSearch,
  component: lazyPage(() => import("./work/work-page.tsx"), "WorkPage"),
});

const ticket = createRoute({
  getParentRoute: () => inside,
  path: "/tasks/tickets/$ticketId",
  validateSearch: parseTicketSearch,
  component: lazyPage(() => import("./work/ticket-page.tsx"), "TicketPage"),
});

const task = createRoute({
  getParentRoute: () => inside,
  path: "/tasks/$taskId",
  component: lazyPage(() => import("./work/task-page.tsx"), "TaskPage"),
});

const pull = createRoute({
  getParentRoute: () => inside,
  path: "/tasks/pulls/$pullId",
  component: lazyPage(() => import("./work/pull-page.tsx"), "PullPage"),
});

/** Where the pages of work were before; who kept such an address is led on. */
const formerWork = createRoute({
  getParentRoute: () => inside,
  path: "/work/$",
  beforeLoad: ({ location }) => {
    throw redirect({ href: toTasksAddress(location.href), replace: true });
  },
});

const monitor = createRoute({
  getParentRoute: () => inside,
  path: "/monitor",
  validateSearch: parseMonitorSearch,
  component: lazyPage(() => import("./monitor/monitor-page.tsx"), "MonitorPage"),
});

const anomaly = createRoute({
  getParentRoute: () => inside,
  path: "/monitor/anomalies/$anomalyId",
  component: lazyPage(() => import("./monitor/anomaly-page.tsx"), "AnomalyPage"),
});

const verdict = createRoute({
  getParentRoute: () => inside,
  path: "/monitor/guardian/$analysisId",
  component: lazyPage(() => import("./monitor/verdict-page.tsx"), "VerdictPage"),
});

const costs = createRoute({
  getParentRoute: () => inside,
  path: "/costs",
  validateSearch: parseCostsSearch,
  component: lazyPage(() => import("./costs/costs-page.tsx"), "CostsPage"),
});

const settings = createRoute({
  getParentRoute: () => inside,
  path: "/settings",
  validateSearch: parseSettingsSearch,
  component: lazyPage(() => import("./settings/settings-page.tsx"), "SettingsPage"),
});

/** A section by its name, as a path. */
const settingsSection = createRoute({
  getParentRoute: () => inside,
  path: "/settings/$section",
  beforeLoad: ({ params }) => {
    throw redirect({ to: "/settings", search: parseSettingsSearch(params), replace: true });
  },
});

export const router = createRouter({
  routeTree: root.addChildren([
    login,
    share,
    inside.addChildren([
      wall,
      sandboxes,
      newSandbox,
      run,
      replay,
      compare,
      work,
      ticket,
      task,
      pull,
      formerWork,
      agents,
      monitor,
      anomaly,
      verdict,
      agent,
      costs,
      settings,
      settingsSection,
    ]),
  ]),
  defaultPreload: "intent",
  // Whoever comes back finds a list where it was left.
  scrollRestoration: true,
  defaultPendingMs: 150,
  defaultErrorComponent: Failed,
  defaultNotFoundComponent: NotFound,
});

session.onLost = () => {
  // Who watches by a link has no login to lose; the page says that the link has ended.
  if (watchToken !== undefined) return;
  session.leave();
  forgetFirstLook();
  queryClient.removeQueries({ queryKey: whoamiQuery.queryKey });
  if (router.state.location.pathname !== "/login") {
    void router.navigate({ to: "/login", search: { return: router.state.location.href } });
  }
};

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
