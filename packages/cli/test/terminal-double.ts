/** A process for the verbs' tests: remembers what was printed, and answers calls from a table. */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@drover/client";
import { toPaint } from "../src/terminal.ts";
import type { Context } from "../src/verb.ts";

export interface Request {
  readonly method: string;
  readonly url: URL;
  readonly body: unknown;
  readonly headers: Headers;
}

export interface Trial {
  readonly context: Context;
  readonly out: string[];
  readonly err: string[];
  readonly requests: Request[];
}

/** `answer` gives the reply of each call; a thrown error is a server that does not answer. */
export function toTrial(
  change: Partial<Context> = {},
  answer: (request: Request) => Response = () => new Response(null, { status: 500 }),
): Trial {
  const trial = { out: [] as string[], err: [] as string[], requests: [] as Request[] };
  const fetch: typeof globalThis.fetch = async (address, init = {}) => {
    const request: Request = {
      method: init.method ?? "GET",
      url: new URL(address instanceof globalThis.Request ? address.url : address),
      body: typeof init.body === "string" ? JSON.parse(init.body) : undefined,
      headers: new Headers(init.headers),
    };
    trial.requests.push(request);
    return answer(request);
  };
  const context: Context = {
    env: { DROVER_URL: "http://drover.test", DROVER_TOKEN: "drv_u_test" },
    cwd: mkdtempSync(join(tmpdir(), "drover-cli-")),
    version: "0.0.0",
    width: 80,
    paint: toPaint(false, {}),
    now: () => new Date("2026-01-01T01:00:00Z"),
    signal: new AbortController().signal,
    print: (line) => void trial.out.push(line),
    warn: (line) => void trial.err.push(line),
    ask: undefined,
    readInput: async () => "from standard input\n",
    write: (to, content) => void (to === "out" ? trial.out : trial.err).push(Buffer.from(content).toString()),
    isOnTerminal: false,
    wait: async () => {},
    console: undefined,
    createClient: (options) =>
      createClient({ ...options, fetch, timers: { now: () => 0, after: (_, run) => (queueMicrotask(run), () => {}) } }),
    ...change,
  };
  return { context, ...trial };
}

export const SANDBOX = {
  id: "drover-00000001-00000a",
  project_id: "project-00000000-0000-4000-8000-000000000000",
  task_id: null,
  state: "running",
  state_cause: null,
  generation: 1,
  provider: "local",
  provider_id: null,
  runtime: "claude",
  model: null,
  prompt: "Make the parser\nfaster \u001B]0;evil\u0007and explain why each change matters in the pull request",
  repo: null,
  base_branch: null,
  branch: "drover/parser",
  labels: {},
  network: "allowlist",
  resources: null,
  enforced_by: null,
  health: "alive",
  turn: 3,
  event_count: 120,
  last_seq: 500,
  last_event_type: "agent.message",
  last_event_at: "2026-01-01T00:59:00Z",
  last_heartbeat_at: null,
  created_at: "2026-01-01T00:00:00Z",
  started_at: null,
  ended_at: null,
};

export const toProblem = (status: number, code: string, detail: string): Response =>
  Response.json({ type: `urn:drover:error:${code}`, title: code, status, detail, request_id: "r" }, { status });
