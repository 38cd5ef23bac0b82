/** Floods a server with garbage and tells what it did that it must not: fail, hang, or say a secret. */
import { Agent } from "node:http";
import { API_BASE, type EndpointName } from "@drover/contract";
import { createChance, type Chance } from "../chance.ts";
import { callHttp, type Answer } from "../http-call.ts";
import { makeGarbage, type Bearers, type GarbageRequest } from "./garbage.ts";

export interface Flood {
  readonly origin: string;
  readonly adminToken: string;
  readonly seed: number;
  readonly requests: number;
  readonly atOnce: number;
  readonly onProgress?: (sent: number) => void;
}

export interface FloodReport {
  readonly byStatus: ReadonlyMap<number, number>;
  /** One sentence each; the first of each kind. */
  readonly findings: readonly string[];
  readonly failures: number;
}

/** They answer for as long as somebody listens. */
const ENDLESS: ReadonlySet<EndpointName> = new Set<EndpointName>(["streamSandbox", "receiveMessages"]);
const ENDLESS_MS = 250;
const LIMIT_MS = 60_000;
/** Ids of each kind that are remembered; old ones make room, so that most still stand. */
const REMEMBERED = 40;
/** The newest workers; older ones were ended or replaced by the flood itself. */
const WORKERS = 3;
/** Kept as a server's secret before the flood: no answer may hold it. */
const CANARY = "sk-a-canary-that-nobody-may-see";
const STACK = /\bat \S+ \(?\S+\.[jt]s:\d+|node_modules\//;

/** Ids in answers, by the name of the path's parameter that they would fill. */
function createMemory() {
  const kinds = new Map<string, string[]>();
  const spared = new Set<string>();
  const learn = (field: string, id: string) => {
    const known = kinds.get(field) ?? [];
    if (spared.has(id) || known.includes(id)) return;
    kinds.set(field, [...known.slice(1 - REMEMBERED), id]);
  };
  const read = (value: unknown): void => {
    if (Array.isArray(value)) for (const item of value.slice(0, 20)) read(item);
    else if (typeof value === "object" && value !== null) {
      for (const [field, inner] of Object.entries(value)) {
        if (typeof inner === "string" && field.endsWith("_id")) learn(field, inner);
        else read(inner);
      }
    }
  };
  return {
    /** Never used as an id. */
    spare: (id: string) => spared.add(id),
    learn,
    read,
    known: (field: string, chance: Chance): string | undefined => {
      const [first, ...rest] = kinds.get(field) ?? [];
      return first === undefined ? undefined : chance.pick([first, ...rest]);
    },
  };
}

/** What the answer of a creating endpoint calls `id`. */
const OWN_ID: Readonly<Partial<Record<EndpointName, string>>> = {
  createProject: "project_id",
  createSandbox: "sandbox_id",
  createToken: "token_id",
  createTicket: "ticket_id",
  createTask: "task_id",
  createBudget: "budget_id",
};

function complain(request: GarbageRequest, answer: Answer): string | undefined {
  const what = `${request.name}: ${request.method} ${request.path.slice(0, 200)}`;
  if (answer.status >= 500) return `${what} answered ${answer.status} ${answer.text.slice(0, 300)}`;
  if (answer.text.includes(CANARY)) return `${what} told the canary`;
  if (STACK.test(answer.text) && answer.status >= 400) return `${what} told a stack: ${answer.text.slice(0, 300)}`;
  return undefined;
}

export async function floodWithGarbage(flood: Flood): Promise<FloodReport> {
  const agent = new Agent({ keepAlive: true, maxSockets: flood.atOnce });
  const chance = createChance(flood.seed);
  const memory = createMemory();
  const asAdmin = (method: string, path: string, body: unknown) =>
    callHttp(flood.origin, agent, method, API_BASE + path, { token: flood.adminToken, body });
  await asAdmin("PUT", "/models/upstreams/gemini", { api_key: CANARY });
  const { body: project } = await asAdmin("POST", "/projects", { name: "flooded" });
  const { body: sandbox } = await asAdmin("POST", "/sandboxes", { provider: "external", project_id: project.id });
  const { body: ticket } = await asAdmin("POST", "/tickets", { title: "flooded", project_id: project.id });
  const { body: viewer } = await asAdmin("POST", "/tokens", { name: "a", role: "viewer", project_id: project.id });
  memory.learn("project_id", project.id);
  memory.learn("sandbox_id", sandbox.id);
  memory.learn("ticket_id", ticket.id);
  memory.learn("scope_id", project.id);
  // A flood that revokes its own credentials is refused at the door from then on.
  const { body: admin } = await asAdmin("GET", "/auth/whoami", undefined);
  for (const id of [admin.token_id, viewer.id]) memory.spare(id);
  // Not each request that happens to be right shall start a real sandbox.
  memory.learn("provider", "external");
  // Nor ask GitHub, which does not answer here.
  memory.learn("host", "builtin");
  let bearers: Bearers = {
    people: [flood.adminToken, flood.adminToken, flood.adminToken, viewer.token],
    workers: [sandbox.worker_token],
  };

  const byStatus = new Map<number, number>();
  const findings = new Map<string, string>();
  let failures = 0;
  const find = (request: GarbageRequest, sentence: string) => {
    failures += 1;
    const kind = `${request.name} ${/answered \d+|told a \w+/.exec(sentence)?.[0] ?? ""}`;
    if (!findings.has(kind)) findings.set(kind, `${sentence}\n    body ${JSON.stringify(request.body)?.slice(0, 500)}`);
  };
  const send = async (request: GarbageRequest): Promise<void> => {
    const isEndless = ENDLESS.has(request.name);
    const signal = AbortSignal.timeout(isEndless ? ENDLESS_MS : LIMIT_MS);
    try {
      const answer = await callHttp(flood.origin, agent, request.method, request.path, { ...request, signal });
      byStatus.set(answer.status, (byStatus.get(answer.status) ?? 0) + 1);
      const complaint = complain(request, answer);
      if (complaint !== undefined) find(request, complaint);
      if (answer.status < 300) {
        memory.read(answer.body);
        const worker: unknown = answer.body?.worker_token;
        if (typeof worker === "string")
          bearers = { ...bearers, workers: [worker, ...bearers.workers.slice(0, WORKERS - 1)] };
        const own = OWN_ID[request.name];
        if (own !== undefined && typeof answer.body?.id === "string") memory.learn(own, answer.body.id);
      }
    } catch (error) {
      // Expected: we hung up on an answer without an end, or Node refused to send such a header.
      if (isEndless && signal.aborted) return;
      if (error instanceof TypeError && /header|path/.test(error.message)) return;
      find(request, `${request.name}: ${request.method} ${request.path.slice(0, 200)} ended with ${String(error)}`);
    }
  };

  let sent = 0;
  const run = async () => {
    while (sent < flood.requests) {
      sent += 1;
      if (sent % 5_000 === 0) flood.onProgress?.(sent);
      await send(makeGarbage(chance, memory.known, bearers));
    }
  };
  await Promise.all(Array.from({ length: flood.atOnce }, run));
  agent.destroy();
  return { byStatus, findings: [...findings.values()], failures };
}
