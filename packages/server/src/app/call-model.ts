/** One call of a model, from an agent, or the server itself, to a vendor and back: checked, reserved, passed on as it comes, metered, settled. */
import {
  askForUsage,
  hasOneReading,
  isLeftRunning,
  isModelAllowed,
  needsUsage,
  readModelRequest,
  toAgentHeaders,
  toUpstreamUrl,
  toVendorHeaders,
  toVendorQuery,
  type Metered,
  type ModelRequest,
  type ModelRoute,
  type RequestBody,
} from "@drover/core";
import { AppError, type ProjectId, type SandboxId } from "@drover/contract";
import type { VendorAnswer } from "../ports/model-vendor.ts";
import { findTicket } from "../store/budgets.ts";
import type { CostDraft } from "../store/costs.ts";
import type { SandboxRow } from "../store/sandboxes.ts";
import { loadForWorker } from "./current-worker.ts";
import { hideUsage, maskKey, meterAnswer, parseModelBody } from "./meter-answer.ts";
import type { Deps } from "./deps.ts";
import type { WorkerIdentity } from "./ingest-events.ts";
import { markSeen } from "./mark-seen.ts";
import type { Connection } from "./models.ts";
import { releaseCall, settleCall, settleOwnCall, type Taken } from "./settle-call.ts";
import { holdMoney, reserveCall, type CallPlan, type Refused } from "./reserve-call.ts";

export interface ModelCall {
  readonly route: ModelRoute;
  readonly query: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly bytes: Buffer;
}

export interface ModelReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Whoever reads it decides the pace. What was used is on record when it ends, however it ends. */
  readonly chunks: AsyncIterable<Uint8Array>;
}

function parseRequest(deps: Deps, route: ModelRoute, body: RequestBody): ModelRequest {
  const request = readModelRequest(route, body);
  if (request === undefined) throw new AppError("request.invalid", "the request names no model");
  if (isLeftRunning(route, body))
    throw new AppError("request.invalid", "the gateway passes no answers in the background: nobody would meter them");
  if (!isModelAllowed(deps.config.modelAllow, request.model))
    throw new AppError("model.not_allowed", `${request.model} is not among the allowed models (DROVER_MODEL_ALLOW)`);
  return request;
}

/** A sandbox of the demo is answered from a recording. */
const readCassette = ({ spec }: SandboxRow): string | undefined =>
  typeof spec["cassette"] === "string" ? spec["cassette"] : undefined;

function send(
  subject: string,
  call: ModelCall,
  { vendor, upstream }: Connection,
  bytes: Uint8Array | undefined,
  signal: AbortSignal,
): Promise<VendorAnswer> {
  const { route } = call;
  return vendor.send(
    {
      method: route.kind === "list" ? "GET" : "POST",
      url: toUpstreamUrl(upstream.baseUrl, route, toVendorQuery(call.query)),
      headers: toVendorHeaders(route.protocol, call.headers, upstream),
      body: bytes,
      subject,
      dialect: route.dialect,
      path: route.path,
    },
    signal,
  );
}

const toReply = (answer: VendorAnswer, chunks: AsyncIterable<Uint8Array>): ModelReply => ({
  status: answer.status,
  headers: toAgentHeaders(answer.headers),
  chunks,
});

const isError = ({ status }: VendorAnswer) => status >= 400;

/** Redirects are not followed: whatever stands elsewhere is not the vendor that was configured. */
function requireVendor(answer: VendorAnswer): void {
  if (answer.status >= 300 && answer.status < 400)
    throw new AppError("model.unavailable", `the vendor answered ${answer.status}, a redirection; check its base URL`);
}

interface Planned {
  readonly call: ModelCall;
  readonly body: RequestBody;
  readonly plan: CallPlan;
  readonly connection: Connection;
  /** For whom: a recording is searched by it. */
  readonly subject: string;
  readonly settle: (taken: Taken) => Promise<void>;
}

/** Money is held for it by now: it is settled, or released, whatever happens. */
async function exchange(
  deps: Deps,
  { call, body, plan, connection, subject, settle }: Planned,
  signal: AbortSignal,
): Promise<ModelReply> {
  const isUsageAsked = needsUsage(call.route, body);
  const isRewritten = isUsageAsked || !hasOneReading(call.bytes.toString("latin1"));
  const bytes = isRewritten ? Buffer.from(JSON.stringify(isUsageAsked ? askForUsage(body) : body)) : call.bytes;
  const release = () => deps.models.track(releaseCall(deps, plan));
  const answer = await send(subject, call, connection, bytes, signal).catch(async (error: unknown) => {
    // Expected: the vendor is away, or the agent hung up. Nothing was used.
    await release();
    throw error;
  });
  if (answer.status >= 300) await release();
  requireVendor(answer);
  if (isError(answer)) return toReply(answer, maskKey(answer.body, connection.upstream.key));
  const { protocol } = call.route;
  const tell = (metered: Metered) => deps.models.track(settle({ protocol, metered, isReplay: answer.isReplay }));
  const metered = meterAnswer(answer, call.route, plan.request, plan.requestCharacters, tell);
  return toReply(answer, isUsageAsked ? hideUsage(metered) : metered);
}

async function generate(
  deps: Deps,
  worker: WorkerIdentity,
  sandbox: SandboxRow,
  call: ModelCall,
  signal: AbortSignal,
): Promise<ModelReply | Refused> {
  const body = parseModelBody(call.bytes);
  const request = parseRequest(deps, call.route, body);
  const connection = await deps.models.connect(call.route.protocol, readCassette(sandbox));
  const ticket = sandbox.task_id === null ? undefined : await findTicket.maybe(deps.db, sandbox.task_id);
  const plan = {
    callId: deps.ids.cost(),
    sandbox,
    scope: {
      sandboxId: sandbox.id,
      taskId: sandbox.task_id,
      ticketId: ticket?.ticket_id ?? null,
      projectId: sandbox.project_id,
    },
    request,
    requestCharacters: call.bytes.byteLength,
  };
  const refused = await reserveCall(deps, plan);
  if (refused !== undefined) return refused;

  // Beside the call: neither waits for the other.
  void deps.models
    .track(markSeen(deps, worker, body, sandbox.turn))
    .catch((error: unknown) =>
      deps.log.warn("gateway.not_marked_seen", { sandbox: sandbox.id, reason: String(error) }),
    );
  const settle = (taken: Taken) => settleCall(deps, { ...plan, ...taken });
  return exchange(deps, { call, body, plan, connection, subject: sandbox.id, settle }, signal);
}

export async function callModel(
  deps: Deps,
  worker: WorkerIdentity,
  call: ModelCall,
  signal: AbortSignal,
): Promise<ModelReply | Refused> {
  const sandbox = await loadForWorker(deps.db, worker);
  if (call.route.kind === "generate") return generate(deps, worker, sandbox, call, signal);
  const bytes = call.route.kind === "count" ? call.bytes : undefined;
  if (bytes !== undefined) parseRequest(deps, call.route, parseModelBody(bytes));
  const connection = await deps.models.connect(call.route.protocol, readCassette(sandbox));
  const answer = await send(sandbox.id, call, connection, bytes, signal);
  requireVendor(answer);
  return toReply(answer, isError(answer) ? maskKey(answer.body, connection.upstream.key) : answer.body);
}

export interface Account {
  readonly purpose: Exclude<CostDraft["purpose"], "agent">;
  readonly projectId: ProjectId;
  /** Null: of no sandbox, or of several. */
  readonly sandboxId: SandboxId | null;
  readonly taskId: string | null;
}

/** A call of the server itself, on somebody's account. One that does not fit their budget is refused, and pauses nobody. */
export async function callOwnModel(
  deps: Deps,
  account: Account,
  call: ModelCall,
  signal: AbortSignal,
): Promise<ModelReply> {
  const { purpose, projectId, sandboxId, taskId } = account;
  const body = parseModelBody(call.bytes);
  const request = parseRequest(deps, call.route, body);
  // Not the sandbox's own recording, which holds an agent's answers; that of the whole server plays for all.
  const connection = await deps.models.connect(call.route.protocol, undefined);
  const ticket = taskId === null ? undefined : await findTicket.maybe(deps.db, taskId);
  const scope = { projectId, ticketId: ticket?.ticket_id ?? null, taskId, sandboxId: sandboxId ?? "" };
  const plan = { callId: deps.ids.cost(), scope, request, requestCharacters: call.bytes.byteLength };
  const short = await holdMoney(deps, plan);
  if (short !== undefined) {
    deps.log.warn("judge.no_money", { project: projectId, budget: short.budget.id });
    throw new AppError("budget.exceeded", "the call does not fit the budget of whom it is made for");
  }
  const settle = (taken: Taken) => settleOwnCall(deps, { ...plan, ...taken, purpose, projectId, sandboxId });
  const subject = `${purpose} ${sandboxId ?? projectId}`;
  return exchange(deps, { call, body, plan, connection, subject, settle }, signal);
}
