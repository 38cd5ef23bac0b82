/** A rejected request leaves no trace: every way to be refused, over every endpoint there is. */
import { createHash } from "node:crypto";
import {
  api,
  EVENT_DATA_LIMIT_BYTES,
  Problem,
  type Endpoint,
  type EndpointName,
  type ProjectId,
  type PullRequestId,
} from "@drover/contract";
import { describe, expect } from "vitest";
import type { Answer, CallOptions } from "../../../testkit/src/http-call.ts";
import { startTestServer, test as base, type TestSandbox, type TestServer } from "../../../testkit/src/server.ts";
import { takeSnapshot } from "../../../testkit/src/snapshot.ts";
import { insertProjectGit } from "../store/git.ts";
import { insertPull } from "../store/pull-requests.ts";
import { BODY_LIMIT_BYTES } from "./body.ts";

const ARTIFACT = createHash("sha256").update("kept").digest("hex");

const REQUEST = "a-request";

/** Has the shape of a task's and a ticket's id. */
const NOBODY = "00000000-0000-4000-8000-000000000000";

interface World {
  readonly projectId: string;
  readonly mine: TestSandbox;
  readonly foreign: TestSandbox;
  /** Its worker was replaced, and `token` is that of the first one. */
  readonly fenced: TestSandbox;
  readonly ended: TestSandbox;
  readonly messageId: string;
  readonly tokenId: string;
  readonly eventId: string;
  readonly ticketId: string;
  readonly taskId: string;
  readonly budgetId: string;
  readonly webhookId: string;
  readonly deliveryId: string;
  readonly pullId: string;
  readonly tokens: Readonly<Record<"viewer" | "operator" | "admin" | "stranger" | "revoked" | "expired", string>>;
}

async function insertSamplePull(server: TestServer, project_id: ProjectId): Promise<string> {
  const id = "pr-000000000001" as PullRequestId;
  // Made now, and not when somebody looks after the pull request.
  await server.call("GET", `/projects/${project_id}/git`);
  const text = { ticket_id: null, title: "x", body: "", head_branch: "x", base_branch: "main" };
  // It is looked after in the background, which would make the row.
  await insertProjectGit(server.db, project_id);
  await insertPull(server.db, { id, project_id, number: 1, ...text, url: null, head_commit: null });
  return id;
}

async function buildWorld(server: TestServer): Promise<World> {
  const projectId = await server.createProject();
  const mine = await server.createSandbox({ project_id: projectId });
  const foreign = await server.createSandbox({ project_id: await server.createProject() });
  const fenced = await server.createSandbox({ project_id: projectId });
  const ended = await server.createSandbox({ project_id: projectId });
  // Made when somebody first looks, and passes of the server look too.
  await server.call("GET", `/projects/${projectId}/git`);
  const { body: sent } = await server.call("POST", `/sandboxes/${mine.id}/messages`, { body: { content: "go on" } });
  await server.call("POST", `/sandboxes/${fenced.id}/messages`, { body: { content: "go on" } });
  const { body: stored } = await mine.post({ event_type: "agent.file_edited", event_data: { full_diff: "x" } });
  for (const one of [mine, foreign, fenced])
    await one.post({ event_type: "agent.permission_requested", event_data: { request_id: REQUEST, tool: "Bash" } });
  for (const { id, token } of [mine, fenced]) {
    await server.call("PUT", `/sandboxes/${id}/artifacts/${ARTIFACT}`, { token, raw: "kept" });
  }
  await server.call("POST", `/sandboxes/${fenced.id}/worker-token`);
  await server.call("DELETE", `/sandboxes/${ended.id}`);
  const revoked = await server.createToken("admin");
  await server.call("DELETE", `/tokens/${revoked.id}`);
  const expired = await server.call("POST", "/tokens", {
    body: { name: "old", role: "admin", expires_at: "2020-01-01T00:00:00Z" },
  });
  const { body: budget } = await server.call("POST", "/budgets", {
    body: { scope_type: "project", scope_id: projectId, limit_amount: 1 },
  });
  // Switched off, so that nothing about it changes by itself.
  const { body: hook } = await server.call("POST", "/webhooks", {
    body: { url: "https://receiver.example/hook", project_id: projectId, is_enabled: false },
  });
  const { body: delivery } = await server.call("POST", `/webhooks/${hook.id}/ping`);
  const viewer = await server.createToken("viewer", projectId);
  const ticket = await server.call("POST", "/tickets", { body: { title: "kept", project_id: projectId } });
  const task = await server.call("POST", "/tasks", { body: { title: "kept", ticket_id: ticket.body.id } });
  return {
    projectId,
    mine,
    foreign,
    fenced,
    ended,
    messageId: sent.message_id,
    tokenId: viewer.id,
    eventId: stored.event_id,
    ticketId: ticket.body.id,
    taskId: task.body.id,
    budgetId: budget.id,
    webhookId: hook.id,
    deliveryId: delivery.id,
    pullId: await insertSamplePull(server, projectId),
    tokens: {
      viewer: viewer.token,
      operator: (await server.createToken("operator", projectId)).token,
      admin: (await server.createToken("admin", projectId)).token,
      stranger: (await server.createToken("admin", await server.createProject())).token,
      revoked: revoked.token,
      expired: expired.body.token,
    },
  };
}

const test = base.extend<{ $file: { server: TestServer; world: World } }>({
  server: [
    async ({}, use) => {
      // Its workers never speak, and nobody shall tell of it or end them meanwhile.
      await using server = await startTestServer({
        config: { deadThresholdSeconds: 86_400, heartbeatIntervalSeconds: 86_400 },
      });
      await use(server);
    },
    { scope: "file" },
  ],
  world: [async ({ server }, use) => use(await buildWorld(server)), { scope: "file" }],
});

/** A body that each endpoint would accept. An endpoint that is missing here fails the first test. */
const TICKET = "00000000-0000-4000-8000-000000000001";

const BODIES: { readonly [Name in EndpointName]: Readonly<Record<string, unknown>> | undefined } = {
  login: { token: "drv_u_nobody-has-this" },
  logout: undefined,
  whoami: undefined,
  getProjectGit: undefined,
  changeProjectGit: { host: "builtin" },
  keepGitHubToken: { token: "ghp_x" },
  getSandboxGit: undefined,
  listPulls: undefined,
  createPull: { project_id: "project-00000000-0000-4000-8000-000000000000", title: "x", head_branch: "x" },
  getPull: undefined,
  mergePull: {},
  closePull: undefined,
  listMergeAttempts: undefined,
  startBranch: { ticket_id: TICKET, ticket_title: "x" },
  finishBranch: { ticket_id: TICKET },
  mergeBranch: { ticket_id: TICKET, pr_number: 1 },
  branchStatus: { branch_name: "x" },
  splitTask: { tasks: [{ title: "x" }] },
  generateTitle: {},
  generateTitles: {},
  createSync: { task_ids: ["00000000-0000-4000-8000-000000000000"] },
  getSync: undefined,
  detectBlocking: undefined,
  checkPhaseCompletion: {},
  spawnPhaseTasks: {},
  listAgents: undefined,
  searchAgents: undefined,
  findBestAgent: undefined,
  listAgentHealth: undefined,
  getAgentHeartbeats: undefined,
  registerAgent: { agent_name: "x" },
  cleanUpStaleAgents: {},
  updateAgent: { agent_name: "x" },
  setAgentAvailability: { available: true },
  beatAgent: { agent_id: "drover-00000000-000000" },
  postAgentEvent: { agent_id: "drover-00000000-000000", event_type: "a.b" },
  getAgentStatistics: undefined,
  listStaleAgents: undefined,
  getAgent: undefined,
  getAgentHealth: undefined,
  createWsTicket: undefined,
  listTokens: undefined,
  createToken: { name: "somebody", role: "viewer" },
  revokeToken: undefined,
  listProjects: undefined,
  createProject: { name: "a rejected project" },
  getProject: undefined,
  updateProject: { description: "a rejected change" },
  sandboxHealth: undefined,
  listSandboxes: undefined,
  countSandboxes: undefined,
  listProviders: undefined,
  createSandbox: { provider: "external" },
  startDemo: {},
  getSandbox: undefined,
  terminateSandbox: undefined,
  pauseSandbox: undefined,
  resumeSandbox: undefined,
  forkSandbox: { prompt: "a rejected fork" },
  cancelSandbox: undefined,
  getSandboxTask: undefined,
  pruneSandboxes: {},
  execCommand: { argv: ["true"] },
  openPreview: { port: 3_000 },
  listFiles: undefined,
  readFile: undefined,
  readLogs: undefined,
  listRecordings: undefined,
  replaceWorker: undefined,
  getMoment: undefined,
  getWorkspaceDiff: undefined,
  listShares: undefined,
  createShare: { expires_in_s: 60 },
  revokeShare: undefined,
  ingestEvents: { event_type: "agent.message" },
  listSandboxEvents: undefined,
  listEvents: undefined,
  getTrajectory: undefined,
  getSpine: undefined,
  getStateAt: undefined,
  streamSandbox: undefined,
  putArtifact: undefined,
  exportArchive: undefined,
  importArchive: undefined,
  applyRetention: {},
  getArtifact: undefined,
  getFileDiff: undefined,
  sendMessage: { content: "a rejected message" },
  receiveMessages: undefined,
  ackMessage: { status: "seen" },
  listMessages: undefined,
  listPermissions: undefined,
  getSupervision: undefined,
  listInterventions: undefined,
  emergencyCancelTask: { task_id: NOBODY, reason: "a" },
  emergencyOverridePriority: { task_id: NOBODY, new_priority: "LOW", reason: "a" },
  emergencyReallocate: { from_agent_id: "drover-00000000-000000", to_agent_id: "x", capacity: 1, reason: "a" },
  getTicketHistory: undefined,
  getPhaseHistory: undefined,
  listTicketCommits: undefined,
  listTicketBlockers: undefined,
  getWorkflowGraph: undefined,
  pageDiscoveries: undefined,
  changeTaskStatus: { status: "completed" },
  getAgentTrajectory: undefined,
  listGuardianActions: undefined,
  getGuardianAction: undefined,
  revertGuardianAction: { reason: "a" },
  listAnalyses: undefined,
  getAnalysis: undefined,
  listConductorAnalyses: undefined,
  getMonitorHealth: undefined,
  getDashboard: undefined,
  getMetrics: undefined,
  listAnomalies: undefined,
  getAnomaly: undefined,
  acknowledgeAnomaly: undefined,
  getMonitorStatus: undefined,
  listAlertRules: undefined,
  createAlertRule: { name: "a rejected rule", metric: "tokens", comparison: "above", threshold: 1 },
  getAlertRule: undefined,
  changeAlertRule: { name: "a rejected name" },
  deleteAlertRule: undefined,
  listAlerts: undefined,
  acknowledgeAlert: undefined,
  listStuckTickets: undefined,
  listDiagnosticRuns: undefined,
  getDiagnosticRun: undefined,
  triggerDiagnostic: undefined,
  analyseNow: undefined,
  analyseInEmergency: { sandbox_ids: ["drover-00000000-000000"] },
  answerPermission: { decision: "deny" },
  getAssignment: undefined,
  getRestored: undefined,
  heartbeat: { status: "alive" },
  listTickets: undefined,
  createTicket: { title: "a rejected ticket" },
  countPendingReviews: undefined,
  getTicket: undefined,
  updateTicket: { title: "a rejected title" },
  transitionTicket: { to_status: "analyzing" },
  regressTicket: {},
  progressTicket: undefined,
  blockTicket: { reason: "dependency" },
  unblockTicket: undefined,
  approveTicket: undefined,
  rejectTicket: { rejection_reason: "no" },
  getApprovalStatus: undefined,
  getTicketContext: undefined,
  updateTicketContext: { context: {} },
  getTicketProgress: undefined,
  listTasks: undefined,
  createTask: { ticket_id: NOBODY, title: "a rejected task" },
  listTimedOut: undefined,
  listCancellable: undefined,
  listReady: undefined,
  getTask: undefined,
  updateTask: { title: "a rejected title" },
  listAttempts: undefined,
  getTaskTimeline: undefined,
  listDiscoveries: undefined,
  registerConversation: { conversation_id: "a" },
  getDependencies: undefined,
  checkCircular: { depends_on: [NOBODY] },
  addDependencies: { depends_on: [NOBODY] },
  setDependencies: { depends_on: [NOBODY] },
  removeDependency: undefined,
  cancelTask: {},
  failTask: {},
  retryTask: undefined,
  getTimeoutStatus: undefined,
  setTaskTimeout: { timeout_seconds: 9 },
  timeOutTask: {},
  cleanUpTimedOut: undefined,
  createJoin: { source_task_ids: [NOBODY], continuation_task_id: NOBODY },
  getTicketGraph: undefined,
  getProjectGraph: undefined,
  getBlockedTasks: undefined,
  getBlockingTasks: undefined,
  getForecast: undefined,
  completeTask: { task_id: NOBODY },
  reportValidation: { task_id: NOBODY, passed: true, feedback: "fine" },
  reportDiscovery: { discovery_type: "bug", description: "a rejected find" },
  listCosts: undefined,
  summariseCosts: undefined,
  breakDownCosts: undefined,
  forecastCosts: { pending_task_count: 1 },
  listBudgets: undefined,
  createBudget: { scope_type: "global", limit_amount: 1 },
  listWebhooks: undefined,
  createWebhook: { url: "https://receiver.example/hook" },
  getWebhook: undefined,
  changeWebhook: { description: "else" },
  deleteWebhook: undefined,
  rotateWebhook: undefined,
  pingWebhook: undefined,
  listDeliveries: undefined,
  redeliver: undefined,
  getBudget: undefined,
  changeBudget: { limit_amount: 2 },
  deleteBudget: undefined,
  checkBudgets: undefined,
  listCostBudgets: undefined,
  createCostBudget: { scope_type: "global", limit_amount: 1 },
  listPrices: undefined,
  putPrice: { model: "a-model", input: 1, output: 2 },
  deletePrice: undefined,
  listUpstreams: undefined,
  putUpstream: { api_key: "a-key" },
  deleteUpstream: undefined,
  listAgentPackages: undefined,
  installAgentPackage: undefined,
  removeAgentPackage: undefined,
};

interface Case {
  readonly name: EndpointName;
  readonly endpoint: Endpoint;
}

const ALL: readonly Case[] = (Object.entries(api) as [EndpointName, Endpoint][]).map(([name, endpoint]) => ({
  name,
  endpoint,
}));
const CLOSED = ALL.filter(({ endpoint }) => endpoint.access !== "open");
const PERSONS = ALL.filter(({ endpoint }) => endpoint.access === "person");
const WORKERS = ALL.filter(({ endpoint }) => endpoint.access === "worker");
const IN_SANDBOX = ALL.filter(({ endpoint }) => endpoint.path.includes(":sandbox_id"));
const WITH_BODY = ALL.filter(({ endpoint }) => endpoint.body !== undefined);
const WITH_QUERY = ALL.filter(({ endpoint }) => endpoint.query !== undefined);
const CREATING = ALL.filter(({ endpoint }) => endpoint.creates === true);

function toPath(endpoint: Endpoint, world: World, sandbox: TestSandbox): string {
  return endpoint.path
    .replace(":sandbox_id", sandbox.id)
    .replace(":project_id", world.projectId)
    .replace(":token_id", world.tokenId)
    .replace(":ticket_id", world.ticketId)
    .replace(":task_id", world.taskId)
    .replace(":dependency_id", NOBODY)
    .replace(":message_id", world.messageId)
    .replace(":request_id", REQUEST)
    .replace(":pull_id", world.pullId)
    .replace(":artifact_id", ARTIFACT)
    .replace(":archive_id", ARTIFACT)
    .replace(":event_id", world.eventId)
    .replace(":budget_id", world.budgetId)
    .replace(":webhook_id", world.webhookId)
    .replace(":delivery_id", world.deliveryId)
    .replace(":share_id", "shr-000000000000")
    .replace(":action_id", "act-000000000000")
    .replace(":anomaly_id", "ano-000000000000")
    .replace(":analysis_id", "ana-000000000000")
    .replace(":alert_id", "alr-000000000000")
    .replace(":rule_id", "rule-000000000001")
    .replace(":run_id", "dia-000000000000")
    .replace(":model", "a-model")
    .replace(":protocol", "gemini");
}

/** A request that would be accepted, with something changed. */
async function ask(
  server: TestServer,
  world: World,
  { name, endpoint }: Case,
  change: CallOptions & { readonly query?: string; readonly path?: string; readonly sandbox?: TestSandbox } = {},
): Promise<Answer> {
  const token = endpoint.access === "worker" ? world.mine.token : undefined;
  const body = BODIES[name];
  const bytes = name === "putArtifact" ? { raw: "kept" } : {};
  const path = change.path ?? toPath(endpoint, world, change.sandbox ?? world.mine);
  return server.call(endpoint.method, path + (change.query ?? ""), {
    ...(token === undefined ? {} : { token }),
    ...(body === undefined || change.raw !== undefined ? {} : { body }),
    ...bytes,
    ...change,
  });
}

/** What is wrong with the refusals of the running test, one sentence each, so that a table shows all of them. */
let complaints: string[] = [];

function expectProblem(answer: Answer, status: number | readonly number[], what: string): void {
  const problem = Problem.safeParse(answer.body);
  const wrong = [
    ...([status].flat().includes(answer.status)
      ? []
      : [`answers ${answer.status}, not ${[status].flat().join(" or ")}`]),
    ...(/^application\/problem\+json\b/.test(answer.headers["content-type"] ?? "")
      ? []
      : ["is not application/problem+json"]),
    ...(problem.data?.status === answer.status ? [] : ["has another status inside"]),
    ...(problem.data?.request_id === answer.headers["x-request-id"] ? [] : ["has another request id inside"]),
  ];
  if (wrong.length > 0) complaints.push(`${what} ${wrong.join(", ")}: ${answer.text.slice(0, 200)}`);
}

/** Runs the requests and finds everything as it was. */
async function leavesNoTrace(server: TestServer, requests: () => Promise<void>): Promise<void> {
  complaints = [];
  const before = await takeSnapshot(server);
  await requests();
  expect(complaints).toEqual([]);
  expect(await takeSnapshot(server)).toEqual(before);
}

test("every endpoint has a sample", () => {
  expect(Object.keys(BODIES).toSorted()).toEqual(Object.keys(api).toSorted());
});

describe("credentials", () => {
  const BAD_CREDENTIALS: readonly [string, (world: World) => CallOptions][] = [
    ["none", () => ({ token: undefined })],
    ["a bearer that nobody has", () => ({ token: "drv_u_garbage" })],
    ["a bearer of 10,000 characters", () => ({ token: "x".repeat(10_000) })],
    ["another scheme", () => ({ token: undefined, headers: { authorization: "Basic YTpi" } })],
    ["an empty bearer", () => ({ token: undefined, headers: { authorization: "Bearer " } })],
    ["a cookie that nobody has", () => ({ token: undefined, headers: { cookie: "drover_session=drv_c_garbage" } })],
    [
      "a token in place of the cookie",
      ({ tokens }) => ({ token: undefined, headers: { cookie: `drover_session=${tokens.admin}` } }),
    ],
    ["a revoked token", ({ tokens }) => ({ token: tokens.revoked })],
    ["an expired token", ({ tokens }) => ({ token: tokens.expired })],
    ["the token of an ended sandbox", ({ ended }) => ({ token: ended.token })],
    ["an unreadable header", () => ({ token: undefined, headers: { authorization: "Bearer \u00ff\u00fe" } })],
  ];
  test.for(BAD_CREDENTIALS)("%s is 401", async ([what, toOptions], { server, world }) => {
    await leavesNoTrace(server, async () => {
      for (const one of CLOSED)
        expectProblem(await ask(server, world, one, toOptions(world)), 401, `${one.name} with ${what}`);
    });
  });

  test("a bad bearer is not saved by a good cookie", async ({ server, world }) => {
    const { body } = await server.call("POST", "/tokens", { body: { name: "cookie", role: "admin" } });
    const login = await server.call("POST", "/auth/login", { token: undefined, body: { token: body.token } });
    const cookie = String(login.headers["set-cookie"]).split(";")[0] ?? "";
    expect((await server.call("GET", "/auth/whoami", { token: undefined, headers: { cookie } })).status).toBe(200);
    await leavesNoTrace(server, async () => {
      for (const one of PERSONS)
        expectProblem(await ask(server, world, one, { token: "drv_u_garbage", headers: { cookie } }), 401, one.name);
    });
  });

  test("a role without the verb is 403", async ({ server, world }) => {
    await leavesNoTrace(server, async () => {
      for (const one of PERSONS) {
        const { verb } = one.endpoint;
        if (verb !== "read")
          expectProblem(await ask(server, world, one, { token: world.tokens.viewer }), 403, `${one.name} as viewer`);
        if (verb === "administer") {
          expectProblem(
            await ask(server, world, one, { token: world.tokens.operator }),
            403,
            `${one.name} as operator`,
          );
        }
      }
    });
  });

  test("what lies in another project does not exist", async ({ server, world }) => {
    await leavesNoTrace(server, async () => {
      for (const one of ALL) {
        if (!/:(sandbox|project|token|ticket|task|pull)_id/.test(one.endpoint.path)) continue;
        expectProblem(
          await ask(server, world, one, { token: world.tokens.stranger }),
          404,
          `${one.name} as a stranger`,
        );
      }
      for (const name of [
        "createSandbox",
        "startDemo",
        "createToken",
        "createTicket",
        "createPull",
        "startBranch",
        "branchStatus",
      ] as const) {
        const body = { ...BODIES[name], project_id: world.projectId };
        expectProblem(
          await ask(server, world, { name, endpoint: api[name] }, { token: world.tokens.stranger, body }),
          404,
          name,
        );
      }
    });
  });

  test("an admin of one project makes no project and ends no token of all", async ({ server, world }) => {
    const whole = await server.createToken("viewer");
    await leavesNoTrace(server, async () => {
      const one = { name: "createProject", endpoint: api.createProject } as const;
      expectProblem(await ask(server, world, one, { token: world.tokens.admin }), 403, "createProject");
      const answer = await server.call("DELETE", `/tokens/${whole.id}`, { token: world.tokens.admin });
      expectProblem(answer, 404, "revokeToken");
    });
  });

  test("a worker's token is good for its own sandbox and its own routes only", async ({ server, world }) => {
    await leavesNoTrace(server, async () => {
      for (const one of IN_SANDBOX) {
        const answer = await ask(server, world, one, { token: world.mine.token, sandbox: world.foreign });
        expectProblem(answer, 404, `${one.name} of a foreign sandbox`);
      }
      for (const one of PERSONS)
        expectProblem(await ask(server, world, one, { token: world.mine.token }), 403, `${one.name} as worker`);
    });
  });

  test("a person does not pass for a worker", async ({ server, world }) => {
    await leavesNoTrace(server, async () => {
      for (const one of WORKERS) {
        for (const token of [world.tokens.viewer, world.tokens.operator, world.tokens.admin]) {
          expectProblem(await ask(server, world, one, { token }), 403, `${one.name} as a person`);
        }
      }
    });
  });

  test("a worker that was replaced is told so, except that its late events are kept", async ({ server, world }) => {
    await leavesNoTrace(server, async () => {
      for (const one of WORKERS) {
        if (one.name === "ingestEvents") continue;
        const answer = await ask(server, world, one, { token: world.fenced.token, sandbox: world.fenced });
        expectProblem(answer, 409, `${one.name} of the generation before`);
      }
    });
  });
});

describe("addresses", () => {
  const MALFORMED = [
    "x",
    "..",
    "%2e%2e",
    "drover-0000000-000000",
    "DROVER-00000000-000000",
    `drover-00000000-00000${"0".repeat(300)}`,
  ];

  test("an id that is none is 404", async ({ server, world }) => {
    await leavesNoTrace(server, async () => {
      for (const one of ALL) {
        for (const [placeholder] of one.endpoint.path.matchAll(/:\w+/g)) {
          for (const id of MALFORMED) {
            const path = toPath(
              { ...one.endpoint, path: one.endpoint.path.replace(placeholder, id) },
              world,
              world.mine,
            );
            expectProblem(await ask(server, world, one, { path }), [404], `${one.endpoint.method} ${path}`);
          }
        }
      }
    });
  });

  test("a NUL character is 422, wherever it stands", async ({ server, world }) => {
    await leavesNoTrace(server, async () => {
      for (const one of ALL) {
        for (const query of ["?q=%00", "?cursor=a%00b", "?a%00=b"]) {
          expectProblem(await ask(server, world, one, { query }), 422, `${one.name}${query}`);
        }
        const path = one.endpoint.path.replace(/:\w+/, "a%00b");
        if (path !== one.endpoint.path)
          expectProblem(
            await ask(server, world, one, { path: toPath({ ...one.endpoint, path }, world, world.mine) }),
            422,
            path,
          );
      }
    });
  });

  test("percent-encoding that is none is refused", async ({ server, world }) => {
    await leavesNoTrace(server, async () => {
      for (const one of WITH_QUERY) {
        for (const query of ["?q=%", "?q=%zz", "?%f=1", "?q=%ff"])
          expectProblem(await ask(server, world, one, { query }), 422, `${one.name}${query}`);
      }
      for (const one of ALL) {
        for (const id of ["%", "%zz", "%ff%fe", "%ed%a0%80"]) {
          const path = one.endpoint.path.replace(/:\w+/, id);
          if (path === one.endpoint.path) continue;
          expectProblem(
            await ask(server, world, one, { path: toPath({ ...one.endpoint, path }, world, world.mine) }),
            [400, 404, 422],
            path,
          );
        }
      }
    });
  });

  test("a query that is not in the contract is 422", async ({ server, world }) => {
    await leavesNoTrace(server, async () => {
      for (const one of WITH_QUERY) {
        for (const query of ["?unknown=1", "?limits=1", "?__proto__=1", "?constructor=1"]) {
          expectProblem(await ask(server, world, one, { query }), 422, `${one.name}${query}`);
        }
        const {
          limit,
          offset,
          cursor,
          after_seq: after,
        } = (one.endpoint.query?.shape ?? {}) as Record<string, unknown>;
        const wrong = [
          ...(limit === undefined
            ? []
            : [
                "limit=0",
                "limit=-1",
                "limit=1.5",
                "limit=1001",
                "limit=ten",
                "limit=1&limit=2",
                "limit=1e400",
                "limit=",
              ]),
          ...(offset === undefined ? [] : ["offset=-1", "offset=0.5", "offset=1e400", "offset=10000001", "offset="]),
          ...(cursor === undefined
            ? []
            : ["cursor=", `cursor=${"x".repeat(201)}`, "cursor=none-of-ours", "cursor=-1", "cursor=a&cursor=b"]),
          ...(after === undefined
            ? []
            : [
                "after_seq=-1",
                "after_seq=x",
                "after_seq=1.5",
                "after_seq=9007199254740992",
                "after_seq=1e400",
                "after_seq=",
              ]),
        ];
        for (const query of wrong)
          expectProblem(await ask(server, world, one, { query: `?${query}` }), 422, `${one.name}?${query}`);
      }
    });
  });

  test("each filter takes what the contract says and nothing else", async ({ server, world }) => {
    const sandbox = `/sandboxes/${world.mine.id}`;
    const queries = [
      "/sandboxes?status=alive",
      "/sandboxes?status=running&status=x",
      "/sandboxes?project_id=x",
      "/sandboxes?task_id=x",
      "/sandboxes?q=",
      `/sandboxes?q=${"x".repeat(201)}`,
      `/sandboxes?cursor=${Buffer.from("9999-99-99 99:99:99+99|a").toString("base64url")}`,
      `/sandboxes?cursor=${world.foreign.id.replace(/.$/, "x")}`,
      `${sandbox}/events?event_type=`,
      `${sandbox}/events?event_type=a%20b`,
      `${sandbox}/events?event_type=${"x".repeat(101)}`,
      `${sandbox}/events?source=root`,
      `${sandbox}/events?order=up`,
      `${sandbox}/events?before_seq=-1`,
      `${sandbox}/events?limit=501`,
      "/events?source=root",
      "/events?limit=501",
      `${sandbox}/trajectory?direction=up`,
      `${sandbox}/trajectory?noise=1`,
      `${sandbox}/trajectory?limit=1001`,
      `${sandbox}/trajectory?cursor=x`,
      `${sandbox}/files?path=`,
      `${sandbox}/files?path=${"x".repeat(4_097)}`,
      `${sandbox}/files?path=a&path=b`,
      `${sandbox}/files/content`,
      `${sandbox}/files/content?path=a&at_seq=-1`,
      `${sandbox}/logs?bytes=0`,
      `${sandbox}/logs?bytes=1048577`,
      `${sandbox}/logs?offset=-1`,
      `${sandbox}/terminal?limit=501`,
      // Drover has no way into a sandbox that it did not make.
      `${sandbox}/files`,
      `${sandbox}/files/content?path=a`,
      `${sandbox}/logs`,
    ];
    await leavesNoTrace(server, async () => {
      for (const query of queries) expectProblem(await server.call("GET", query), 422, query);
      const missing = `${sandbox}/trajectory?cursor=00000000-0000-7000-8000-000000000000`;
      expectProblem(await server.call("GET", missing), [404, 422], missing);
      for (const query of [
        "wait=1",
        "lease=0",
        "lease=301",
        "lease=30&wait=31",
        "lease=30&wait=-1",
        "lease=x",
        "wait=0",
      ]) {
        const path = `${sandbox}/messages?${query}`;
        expectProblem(await server.call("GET", path, { token: world.mine.token }), 422, path);
      }
    });
  });

  test("a foreign Host or Origin is 403", async ({ server, world }) => {
    const port = new URL(server.url).port;
    const headers: readonly Readonly<Record<string, string>>[] = [
      { host: "evil.example" },
      { host: `evil.example:${port}` },
      { host: "127.0.0.1.evil.example" },
      { origin: "https://evil.example" },
      { origin: "null" },
      { origin: "garbage" },
      { origin: "http://127.0.0.1:1" },
      { origin: `http://localhost.evil.example:${port}` },
      { origin: "file://" },
    ];
    await leavesNoTrace(server, async () => {
      for (const one of ALL) {
        for (const header of headers)
          expectProblem(
            await ask(server, world, one, { headers: header }),
            403,
            `${one.name} ${JSON.stringify(header)}`,
          );
      }
    });
  });
});

describe("bodies", () => {
  const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
  const BROKEN: readonly [string, string | Uint8Array, number][] = [
    ["text that is not JSON", "{", 400],
    ["blanks", "  ", 400],
    ["a byte order mark", "\ufeff{}", 400],
    ["bytes that are not UTF-8", Buffer.from('{"a":"\xff\xfe"}', "latin1"), 400],
    [
      "half a surrogate pair in CESU-8",
      Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"}')]),
      400,
    ],
    ["9 MiB", `{"a":"${"x".repeat(9 * 1024 * 1024)}"}`, 413],
    ["one byte over the limit", `"${"x".repeat(BODY_LIMIT_BYTES - 1)}"`, 413],
    ["a NUL character in a value", '{"a":"\\u0000"}', 422],
    ["a NUL character in a key", '{"\\u0000":1}', 422],
    ["half a surrogate pair", '{"a":"\\ud800"}', 422],
    ["half a surrogate pair in a key", '{"\\udc00":1}', 422],
    ["a number beyond doubles", '{"a":1e400}', 422],
    ["a negative number beyond doubles", '{"a":[-1e400]}', 422],
    ["65 levels", nested(65), 422],
    ["10,000 levels", nested(10_000), 422],
    ["100,000 levels of arrays", `${"[".repeat(100_000)}${"]".repeat(100_000)}`, 422],
  ];
  test.for(BROKEN)("%s", async ([what, raw, status], { server, world }) => {
    await leavesNoTrace(server, async () => {
      for (const one of ALL) {
        if (one.endpoint.method !== "POST" && one.endpoint.method !== "PATCH") continue;
        expectProblem(await ask(server, world, one, { raw }), status, `${one.name} with ${what}`);
      }
    });
  });

  test("a body of another type is 422", async ({ server, world }) => {
    await leavesNoTrace(server, async () => {
      for (const one of WITH_BODY) {
        for (const raw of ["null", "[]", '"text"', "1", "true", "[{}]"]) {
          expectProblem(await ask(server, world, one, { raw }), 422, `${one.name} ${raw}`);
        }
      }
    });
  });

  /** What of these values is fine after all. */
  const FINE: ReadonlySet<string> = new Set([
    "updateTicketContext context={}",
    "setDependencies depends_on=[]",
    "setTaskTimeout timeout_seconds=1",
    "mergeBranch pr_number=1",
    "keepGitHubToken token=null",
    "reportValidation passed=true",
    "setAgentAvailability available=true",
    'reportValidation feedback=""',
  ]);

  test("a field that is not in the contract, or of another type, is 422", async ({ server, world }) => {
    await leavesNoTrace(server, async () => {
      for (const one of WITH_BODY) {
        const body = BODIES[one.name] ?? {};
        expectProblem(
          await ask(server, world, one, { body: { ...body, unknown: 1 } }),
          422,
          `${one.name} with an unknown field`,
        );
        for (const field of Object.keys(body)) {
          // A description may be empty and may be taken away.
          const isNumber = typeof body[field] === "number";
          for (const value of [isNumber ? "1" : 1, true, [], {}, ...(field === "description" ? [] : [null, ""])]) {
            if (FINE.has(`${one.name} ${field}=${JSON.stringify(value)}`)) continue;
            expectProblem(
              await ask(server, world, one, { body: { ...body, [field]: value } }),
              422,
              `${one.name} ${field}=${JSON.stringify(value)}`,
            );
          }
        }
      }
    });
  });

  test("a content type that is none does no harm", async ({ server, world }) => {
    await leavesNoTrace(server, async () => {
      for (const one of WITH_BODY) {
        for (const type of [
          "",
          "garbage",
          "text/plain",
          "application/json; charset=\u00ff",
          ";;;",
          "multipart/form-data",
        ]) {
          const answer = await ask(server, world, one, { raw: "{", headers: { "content-type": type } });
          expectProblem(answer, 400, `${one.name} as ${type}`);
        }
      }
    });
  });

  const REFUSED: readonly [EndpointName, Readonly<Record<string, unknown>>][] = [
    ["createToken", { name: " ", role: "viewer" }],
    ["createToken", { name: "x".repeat(101), role: "viewer" }],
    ["createToken", { name: "x", role: "root" }],
    ["createToken", { name: "x", role: "viewer", expires_at: "tomorrow" }],
    ["createToken", { name: "x", role: "viewer", expires_at: "2026-02-30T00:00:00Z" }],
    ["createToken", { name: "x", role: "viewer", expires_at: "0000-01-01T00:00:00Z" }],
    ["createToken", { name: "x", role: "viewer", project_id: "default" }],
    ["createProject", { name: "" }],
    ["createProject", { name: "x".repeat(101) }],
    ["createProject", { name: "x", description: "x".repeat(2_001) }],
    ["updateProject", { name: null }],
    ["updateProject", { repo: "" }],
    ["createSandbox", { provider: "kubernetes" }],
    ["createSandbox", { provider: "nowhere" }],
    ["createSandbox", { provider: "external", prompt: "x".repeat(100_001) }],
    ["createSandbox", { provider: "external", resources: { memory_gb: 9 } }],
    ["createSandbox", { provider: "external", resources: { cpu: 0 } }],
    ["createSandbox", { provider: "external", env: { "1A": "x" } }],
    ["createSandbox", { provider: "external", labels: { a: 1 } }],
    ["createSandbox", { provider: "external", labels: { "": "a" } }],
    ["createSandbox", { provider: "external", task_id: "x" }],
    ["createSandbox", { provider: "external", runtime: "../sh" }],
    ["createSandbox", { provider: "external", timeout_s: 1.5 }],
    ["createSandbox", { provider: "external", budget_usd: -1 }],
    ["createSandbox", { provider: "external", network: "all" }],
    ["createSandbox", { provider: "external", script: [] }],
    ["execCommand", { argv: [1] }],
    ["execCommand", { argv: "true" }],
    ["execCommand", { argv: ["true"], cwd: "" }],
    ["execCommand", { argv: ["true"], env: { "1A": "x" } }],
    ["execCommand", { argv: ["true"], env: { A: 1 } }],
    ["execCommand", { argv: ["true"], timeout_s: 0 }],
    ["execCommand", { argv: ["true"], timeout_s: 3_601 }],
    ["execCommand", { argv: ["true"] }],
    ["pruneSandboxes", { all: 1 }],
    ["pruneSandboxes", { dry_run: "yes" }],
    ["sendMessage", { content: "" }],
    ["sendMessage", { content: "x".repeat(10_001) }],
    ["sendMessage", { content: "😀".repeat(10_001) }],
    ["sendMessage", { content: "x", message_type: "shout" }],
    ["sendMessage", { content: "x", message_type: "toString" }],
    ["sendMessage", { content: "x", delivery: "now" }],
    ["ackMessage", { status: "queued" }],
    ["ackMessage", { status: "expired" }],
    ["ackMessage", { status: "seen", turn: -1 }],
    ["ackMessage", { status: "seen", turn: 1.5 }],
    ["ackMessage", { status: "seen", turn: 2_147_483_648 }],
    ["ackMessage", { status: "seen", detail: "x".repeat(2_001) }],
    ["heartbeat", { status: "x".repeat(51) }],
    ["heartbeat", { detail: [] }],
  ];
  /** As short as a name of a test should be. */
  const toTitle = (body: unknown) => JSON.stringify(body).replace(/(.{40}).{40,}(?=.{20})/su, "$1…");
  test.for(REFUSED.map(([name, body]) => [name, toTitle(body), body] as const))(
    "%s %s is 422",
    async ([name, , body], { server, world }) => {
      await leavesNoTrace(server, async () => {
        expectProblem(await ask(server, world, { name, endpoint: api[name] }, { body }), 422, name);
      });
    },
  );

  test("a key that is empty or too long is 422 wherever keys are honoured", async ({ server, world }) => {
    const events = { name: "ingestEvents", endpoint: api.ingestEvents } as const;
    await leavesNoTrace(server, async () => {
      for (const one of [...CREATING, events]) {
        for (const key of ["", "x".repeat(201)]) {
          expectProblem(
            await ask(server, world, one, { headers: { "idempotency-key": key } }),
            422,
            `${one.name} with a key of ${key.length}`,
          );
        }
      }
    });
  });
});

describe("events", () => {
  const good = { event_type: "agent.message" };
  const WRONG: readonly [string, unknown, number][] = [
    ["no type", {}, 422],
    ["an empty type", { event_type: "" }, 422],
    ["a type of 101 characters", { event_type: "x".repeat(101) }, 422],
    ["a type with a blank", { event_type: "agent message" }, 422],
    ["a type with a slash", { event_type: "agent/message" }, 422],
    ["a type with an umlaut", { event_type: "agent.m\u00e4ssage" }, 422],
    ["a type with a line end", { event_type: "agent.message\n" }, 422],
    ["a source of the server", { ...good, source: "server" }, 422],
    ["a source of people", { ...good, source: "user" }, 422],
    ["a source of the guardian", { ...good, source: "guardian" }, 422],
    ["data that is a list", { ...good, event_data: [] }, 422],
    ["data that is text", { ...good, event_data: "x" }, 422],
    ["data that is null", { ...good, event_data: null }, 422],
    ["an empty client_event_id", { ...good, client_event_id: "" }, 422],
    ["a client_event_id of 201 characters", { ...good, client_event_id: "x".repeat(201) }, 422],
    ["a seq of its own", { ...good, seq: 1 }, 422],
    ["a sandbox of its own", { ...good, sandbox_id: "drover-00000000-000000" }, 422],
    ["a batch of none", { events: [] }, 422],
    ["a batch of 1,001", { events: Array.from({ length: 1_001 }, () => good) }, 422],
    ["a batch that is an object", { events: {} }, 422],
    ["a batch with a field beside it", { events: [good], source: "agent" }, 422],
    ["a batch whose last event is wrong", { events: [good, good, { event_type: "" }] }, 422],
    ["a batch whose last event is reserved", { events: [good, good, { event_type: "MESSAGE_QUEUED" }] }, 422],
    [
      "a batch whose last event is too large",
      { events: [good, { ...good, event_data: { a: "x".repeat(EVENT_DATA_LIMIT_BYTES) } }] },
      413,
    ],
    [
      "data one byte over the limit",
      { ...good, event_data: { a: "x".repeat(EVENT_DATA_LIMIT_BYTES - '{"a":""}'.length + 1) } },
      413,
    ],
    [
      "data over the limit in bytes only",
      { ...good, event_data: { a: "\u00e4".repeat(EVENT_DATA_LIMIT_BYTES / 2) } },
      413,
    ],
  ];
  test.for(WRONG)("%s is refused", async ([what, body, status], { server, world }) => {
    await leavesNoTrace(server, async () => expectProblem(await world.mine.post(body), status, what));
  });

  test("the server's own types are refused from workers in every form", async ({ server, world }) => {
    const types = [
      "MESSAGE_QUEUED",
      "message.queued",
      "Message-Queued",
      "message_queued",
      "SPAWNED",
      "spawned",
      "STATE_CHANGED",
      "state.changed",
    ];
    const more = [
      "agent.usage",
      "AGENT_USAGE",
      "agent-usage",
      "sandbox.spawned",
      "SANDBOX_SPAWNED",
      "TASK_COMPLETED",
      "task.completed",
      "token.revoked",
    ];
    const rest = [
      "WORKER_REPLACED",
      "TERMINATED",
      "terminated",
      "PR_MERGED",
      "guardian.steering.intervention",
      "cost.recorded",
      "project.created",
    ];
    await leavesNoTrace(server, async () => {
      for (const event_type of [...types, ...more, ...rest])
        expectProblem(await world.mine.post({ event_type }), 422, event_type);
    });
  });

  test("a heartbeat whose detail is too large is refused", async ({ server, world }) => {
    const body = { detail: { a: "x".repeat(EVENT_DATA_LIMIT_BYTES) } };
    await leavesNoTrace(server, async () => {
      expectProblem(
        await ask(server, world, { name: "heartbeat", endpoint: api.heartbeat }, { body }),
        413,
        "heartbeat",
      );
    });
  });
});
