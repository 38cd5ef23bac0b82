/** One task in one sandbox, with the worker that a server would start: no queue, no database, no server. */
import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { AppError, parseAgentOptions, type Assignment, type Config, type JsonObject } from "@drover/contract";
import { ensureWorker, openSandboxGate, toWorkerCommand } from "@drover/server/sandbox";
import { openDesk, type Desk } from "./desk.ts";
import { openModelPassage, toUpstreams } from "./pass-model.ts";
import { WORKER_BUNDLE, type SandboxWorkspace } from "./provider-workspace.ts";
import { EXECUTE_LIMIT_MS, type Executor, type RunEvent, type RunResult, type RunStatus } from "./run-result.ts";
import { NEVER } from "./workspace.ts";

const MEBIBYTE = 1024 * 1024;
const LOOK_MS = 100;
/** For what the worker still has to say after the agent has ended, and for its end. */
const LEAVE_MS = 10_000;
/** Stands where a token would: the real one is attached outside of the sandbox. */
const NO_TOKEN = "attached-outside";

export interface DirectOptions {
  readonly workspace: SandboxWorkspace;
  readonly config: Config;
  /** `scripted` unless told. */
  readonly runtime?: string | undefined;
  readonly model?: string | undefined;
  readonly budgetUsd?: number | undefined;
  /** What a scripted agent plays. */
  readonly script?: JsonObject | undefined;
  /** As `POST /sandboxes` takes them: `command`, `permission_policy`, `max_turns`, ... */
  readonly agent?: JsonObject | undefined;
  /** Where the worker reaches this process, for providers without a shared directory; a port on loopback unless told. */
  readonly callbackUrl?: string | undefined;
}

const isText = (value: unknown): value is string => typeof value === "string";

/** What an event says about the end of the task. */
function toEnd({ event_type, event_data: data }: RunEvent): Pick<RunResult, "status" | "detail"> | undefined {
  if (event_type === "agent.failed")
    return { status: "failed", detail: isText(data["error"]) ? data["error"] : "the agent failed" };
  if (event_type !== "agent.completed") return undefined;
  const detail = isText(data["final_output"]) ? data["final_output"] : "";
  return { status: data["success"] === false ? "failed" : "completed", detail };
}

const findSession = (events: readonly RunEvent[]): string | null => {
  for (const { event_data: data } of events.toReversed()) {
    const metadata = data["metadata"];
    const inner =
      typeof metadata === "object" && metadata !== null ? (metadata as JsonObject)["session_id"] : undefined;
    const found = data["session_id"] ?? inner;
    if (isText(found)) return found;
  }
  return null;
};

const toAssignment = (options: DirectOptions, task: string): Assignment => ({
  sandbox_id: options.workspace.id,
  generation: 1,
  task_id: null,
  ticket_title: null,
  prompt: task,
  runtime: options.runtime ?? "scripted",
  model: options.model ?? null,
  branch: null,
  git_path: null,
  script: options.script ?? null,
  agent: parseAgentOptions(options.agent ?? {}),
  continuous: false,
  continuous_options: null,
  budget_usd: options.budgetUsd ?? null,
  spent_usd: null,
  timeout_s: null,
  resume: null,
  heartbeat_interval_s: options.config.heartbeatIntervalSeconds,
  post_completion_s: options.config.postCompletionSeconds,
});

/** Through the sandbox's own directory where it has one, else by HTTP. */
async function admit(options: DirectOptions, desk: Desk, token: string) {
  const { workspace } = options;
  const directory = workspace.provider.socketDirectory(workspace.ref);
  if (directory !== undefined) {
    const gate = openSandboxGate(() => desk.handle);
    await gate.open(workspace.id, directory, token);
    const env = { SANDBOX_ID: workspace.id, CALLBACK_URL: "unix:///run/cp/api.sock", SANDBOX_TOKEN: NO_TOKEN };
    return { env, close: () => gate.closeAll() };
  }
  const server = createServer(desk.handle);
  const asked = options.callbackUrl === undefined ? undefined : new URL(options.callbackUrl);
  const host = asked === undefined ? "127.0.0.1" : "0.0.0.0";
  await new Promise<void>((done, fail) => server.once("error", fail).listen(Number(asked?.port ?? 0), host, done));
  const url = options.callbackUrl ?? `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = () =>
    new Promise<void>((done) => {
      server.close(() => done());
      server.closeAllConnections();
    });
  return { env: { SANDBOX_ID: workspace.id, CALLBACK_URL: url, SANDBOX_TOKEN: token }, close };
}

const pauseMs = (ms: number) => new Promise<void>((done) => void setTimeout(done, ms));

/** Nobody is kept waiting by it once the other side of a race has won. */
const pauseAtMost = (ms: number) => new Promise<void>((done) => void setTimeout(done, ms).unref());

/** How the worker ended; undefined while it runs. */
async function findExit({ provider, ref }: SandboxWorkspace, stateDir: string): Promise<string | undefined> {
  const info = await provider.info(ref, NEVER);
  if (info === undefined) return "the sandbox is gone";
  if (info.state === "stopped") return info.reason ?? "the sandbox stopped";
  const exit = info.ended.find(({ argv }) => argv.some((word) => word.startsWith(stateDir)));
  if (exit === undefined) return undefined;
  return exit.signal === null ? `the worker ended with ${exit.code}` : `the worker was killed by ${exit.signal}`;
}

/** Agents refuse to do without permissions where nothing holds them in; this says that something does. */
async function toIsolationEnv({ provider, ref }: SandboxWorkspace): Promise<Readonly<Record<string, string>>> {
  const isolation = (await provider.info(ref, NEVER))?.enforcedBy.isolation;
  return isolation === undefined || isolation === "unsafe" || isolation === "none" ? {} : { IS_SANDBOX: "1" };
}

export function createDirectExecutor(options: DirectOptions): Executor {
  const { workspace, config } = options;
  let isBusy = false;

  const run: Executor["execute"] = async (task, { timeoutMs = EXECUTE_LIMIT_MS, signal = NEVER, onEvent } = {}) => {
    const ended = Promise.withResolvers<Pick<RunResult, "status" | "detail">>();
    const quiet = Promise.withResolvers<void>();
    const token = randomBytes(32).toString("base64url");
    const stateDir = `/home/agent/.drover-direct-${randomBytes(4).toString("hex")}`;
    let turn = 0;
    const passage = openModelPassage({
      upstreams: toUpstreams(config),
      bodyLimitBytes: config.modelBodyMb * MEBIBYTE,
      silenceMs: config.modelSilenceSeconds * 1_000,
      budgetUsd: options.budgetUsd,
      onUsage: (data) => desk.append("agent.usage", { turn, ...data }),
    });
    const desk: Desk = openDesk({
      assignment: toAssignment(options, task),
      token,
      passModel: passage.pass,
      onEvent: (event) => {
        if (typeof event.event_data["turn"] === "number") turn = event.event_data["turn"];
        const end = toEnd(event);
        if (end !== undefined) ended.resolve(end);
        if (event.event_type === "agent.waiting" || event.event_type === "agent.shutdown") quiet.resolve();
        onEvent?.(event);
      },
    });
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(), timeoutMs);
    const stop = (status: RunStatus, detail: string) => () => ended.resolve({ status, detail });
    limit.signal.addEventListener("abort", stop("timed_out", `not done within ${timeoutMs} ms`), { once: true });
    if (signal.aborted) stop("cancelled", "cancelled")();
    signal.addEventListener("abort", stop("cancelled", "cancelled"), { once: true });

    const entrance = await admit(options, desk, token);
    try {
      desk.append("SPAWNED", {
        sandbox_id: workspace.id,
        provider: workspace.mode,
        runtime: options.runtime ?? "scripted",
      });
      const env = { ...entrance.env, ...(await toIsolationEnv(workspace)), AGENTS_DIR: workspace.agentsDir };
      const worker = await ensureWorker(workspace.provider, workspace.ref, WORKER_BUNDLE, signal);
      await workspace.provider.startDetached(workspace.ref, toWorkerCommand(worker, env, stateDir), signal);
      let isOver = false;
      void ended.promise.then(() => (isOver = true));
      let exit: string | undefined;
      const watch = async () => {
        while (!isOver && exit === undefined) {
          await pauseMs(LOOK_MS * 5);
          exit = await findExit(workspace, stateDir).catch(() => undefined); // not being able to look says nothing
        }
        if (exit !== undefined) ended.resolve({ status: "failed", detail: exit });
      };
      const watched = watch();
      const { status, detail } = await ended.promise;
      // What the worker says last is told before it is sent away.
      if (status === "completed") await Promise.race([quiet.promise, pauseAtMost(LEAVE_MS)]);
      desk.end();
      await watched;
      const deadlineMs = performance.now() + LEAVE_MS;
      while (exit === undefined && performance.now() < deadlineMs) {
        exit = await findExit(workspace, stateDir).catch(() => undefined);
        if (exit === undefined) await pauseMs(LOOK_MS);
      }
      return {
        status,
        event_count: desk.events.length,
        cost: passage.costUsd,
        sandbox_id: workspace.id,
        conversation_id: findSession(desk.events),
        detail,
      };
    } finally {
      clearTimeout(timer);
      desk.end();
      await entrance.close();
      await passage.close();
    }
  };

  return {
    execute: async (task, given) => {
      if (isBusy) throw new AppError("sandbox.rejected", "one task at a time: the workspace is busy");
      isBusy = true;
      return run(task, given).finally(() => (isBusy = false));
    },
  };
}
