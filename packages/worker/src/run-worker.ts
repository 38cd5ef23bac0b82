/** A worker from start to end: restores its journal, learns what to do, runs the agent, and leaves nothing unsaid. */
import { AppError, type Assignment, ContinuousOptions, Evidence, type NewEvent, toEventData } from "@drover/contract";
import { randomBytes } from "node:crypto";
import { dirname, join, resolve } from "node:path";
import type { AgentEnd, AgentRuntime, Resume, WorkOrder } from "./agent-runtime.ts";
import { deliver } from "./deliver.ts";
import { ACP_RUNTIMES } from "./agents/acp/acp.ts";
import { createOpenHands } from "./agents/openhands/openhands.ts";
import { createClaude } from "./agents/claude/claude.ts";
import { createScripted } from "./agents/scripted.ts";
import { openArtifactSpool } from "./artifacts.ts";
import { type Bridge, openBridge } from "./bridge.ts";
import { type Clock, systemClock } from "./clock.ts";
import { makeContinuous } from "./continuous.ts";
import { lockDirectory } from "./directory-lock.ts";
import { type Disk, openDisk } from "./disk.ts";
import { SETTLED, startAgent } from "./drive-agent.ts";
import { type Fault, noFault } from "./fault.ts";
import { fetchAssignment, fetchSpent } from "./fetch-assignment.ts";
import { createGit } from "./git.ts";
import { ensureRemote } from "./git-remote.ts";
import { startHeartbeat } from "./heartbeat.ts";
import { startInbox } from "./inbox.ts";
import { type Link, startLink } from "./link.ts";
import { type Log, noLog } from "./log.ts";
import { openLoadMeter } from "./measure-load.ts";
import { openOutbox, type Outbox } from "./outbox.ts";
import { prepareOrder, toHome, toRuntimeName } from "./prepare-order.ts";
import { restoreNamed, restoreRun } from "./restore.ts";
import { type Receipts, startReceipts } from "./receipts.ts";
import { type Environment, parseSettings, type Settings, toChildEnv } from "./settings.ts";
import { createTransport, type Transport } from "./transport.ts";
import { openTranscript, startSaving } from "./transcript.ts";
import type { Ending } from "./verdict.ts";
import { CHECKPOINT_NOTE, watchWorkspace, type WorkspaceWatch } from "./watch-workspace.ts";

/** What a worker is made of; tests and other programs may put their own in place. */
export interface WorkerParts {
  readonly clock: Clock;
  readonly random: () => number;
  readonly fault: Fault;
  readonly log: Log;
  readonly runtimes: Readonly<Record<string, AgentRuntime>>;
  readonly createTransport: (url: string, token: string) => Transport;
  /** Where the journal lies. */
  readonly openDisk: (directory: string) => Promise<Disk>;
  /** How long a worker that was told to end may take to bring its last events to the server. One that ends by itself
   *  takes all the time it needs: its journal may go away with its sandbox. */
  readonly drainMs: number;
  readonly outboxLimitBytes: number;
}

/** All that a worker can start, by the name that a sandbox's `runtime` has. */
export const RUNTIMES: Readonly<Record<string, AgentRuntime>> = {
  scripted: createScripted(),
  claude: createClaude(),
  ...ACP_RUNTIMES,
  openhands: createOpenHands(),
};

const DEFAULTS: WorkerParts = {
  clock: systemClock,
  random: () => randomBytes(4).readUInt32BE() / 2 ** 32,
  fault: noFault,
  log: noLog,
  runtimes: RUNTIMES,
  createTransport,
  openDisk,
  drainMs: 10_000,
  outboxLimitBytes: 64 * 1024 * 1024,
};
const COMPACT_AT_BYTES = 256 * 1024;

/** How a worker ended, and what it tells the system. */
export const EXIT_CODES = {
  /** The work is over and nobody spoke again, or a signal asked for the end. */
  done: 0,
  /** It could not start, or its agent broke. */
  failed: 1,
  /** The server no longer accepts the token. Starting again with the same one is useless. */
  revoked: 3,
  /** The sandbox has ended, or a newer generation has taken over. */
  ended: 4,
} as const;

export interface WorkerExit {
  readonly code: (typeof EXIT_CODES)[keyof typeof EXIT_CODES];
  readonly reason: string;
  /** Events that are still only in the journal. */
  readonly unsent: number;
}

const toExitCode = (ending: Ending) => (ending.reason === "revoked" ? EXIT_CODES.revoked : EXIT_CODES.ended);

const newId = () => randomBytes(4).toString("hex");

const toSpool = ({ stateDir }: Settings): string => join(stateDir, "artifacts");

const toStarted = (
  { settings, parts }: Open,
  order: WorkOrder,
  runtime: AgentRuntime,
  assignment: Assignment,
): NewEvent => ({
  event_type: "agent.started",
  source: "worker",
  event_data: {
    turn: 0,
    timestamp: parts.clock.now().toISOString(),
    sdk: runtime.name,
    model: order.model,
    task: order.prompt.slice(0, 2_000),
    task_description_length: order.prompt.length,
    ticket_title: settings.ticketTitle ?? assignment.ticket_title,
    branch: order.branch,
    generation: assignment.generation,
    is_resuming: order.mark !== undefined || order.resume !== null,
    resume: order.resume?.how ?? (order.mark === undefined ? null : runtime.capabilities.resume),
    resumed_session_id: order.resume?.sessionId ?? null,
    // What is gone on with is a copy: the session it is of stays as it was.
    fork_session: order.resume !== null,
    permission_mode: order.permissionMode,
    capabilities: { ...runtime.capabilities },
  },
});

const toShutdown = (reason: string, turns: number, now: Date): NewEvent => ({
  event_type: "agent.shutdown",
  source: "worker",
  event_data: { turn: turns, reason, total_turns: turns, timestamp: now.toISOString() },
});

interface Open {
  readonly parts: WorkerParts;
  readonly settings: Settings;
  readonly outbox: Outbox;
  readonly transport: Transport;
  readonly childEnv: Readonly<Record<string, string>>;
  readonly bridge: Bridge;
}

/** What everybody who speaks to the server is given. */
const toCommon = ({ parts: { clock, random, fault, log }, settings: { sandboxId }, outbox, transport }: Open) => ({
  outbox,
  transport,
  sandboxId,
  clock,
  random,
  fault,
  log,
});

/** They outlive the agent: what was recorded at the end is still to be sent. */
interface Senders {
  readonly link: Link;
  readonly receipts: Receipts;
}

/** The workspace as it is before the agent touches it. */
async function recordWorkspace(outbox: Outbox, watch: WorkspaceWatch): Promise<void> {
  const events = await watch.begin();
  const notes = { [CHECKPOINT_NOTE]: watch.toNote() };
  if (events.length === 0) await outbox.note(notes);
  else
    await outbox.append(
      events.map((event) => ({ ...event, source: "worker", event_data: toEventData(event.event_data) })),
      notes,
    );
}

/** The runtime itself, or in iterations. */
function toWorking(
  { settings, childEnv, transport }: Open,
  assignment: Assignment,
  order: WorkOrder,
  runtime: AgentRuntime | undefined,
): AgentRuntime | undefined {
  if (runtime === undefined || !order.continuous) return runtime;
  const options = { ...(assignment.continuous_options ?? ContinuousOptions.parse({})), ...settings.limits };
  const asked = settings.executionMode === "exploration" ? [] : (options.require ?? ["clean", "committed"]);
  const require = Evidence.options.filter((one) => settings.required.get(one) ?? asked.includes(one));
  const loadSpent = (signal: AbortSignal) => fetchSpent({ transport, sandboxId: settings.sandboxId }, signal);
  const notesFile = resolve(order.home, settings.notesFile ?? "iteration-notes.md");
  return makeContinuous(runtime, { git: createGit(childEnv["PATH"]), options, require, loadSpent, notesFile });
}

/** Waits for the first of: the agent's end, the server's last word, the signal. Then ends the others. */
async function work(
  open: Open,
  assignment: Assignment,
  senders: Senders,
  order: WorkOrder,
  watch: WorkspaceWatch,
  signal: AbortSignal,
): Promise<WorkerExit> {
  const { parts, settings, outbox } = open;
  const name = toRuntimeName(settings, assignment);
  const runtime = toWorking(open, assignment, order, parts.runtimes[name]);
  if (runtime === undefined) {
    const error = `this worker has no runtime called ${name}`;
    await outbox.append([{ event_type: "agent.failed", source: "worker", event_data: { turn: 0, error } }]);
    return { code: EXIT_CODES.failed, reason: error, unsent: 0 };
  }

  const stop = new AbortController();
  const inner = AbortSignal.any([signal, stop.signal]);
  const common = toCommon(open);

  // A run that is over and only waits for messages is not started again: its state at the server stays what it is.
  if (outbox.getNote(SETTLED) !== true) await outbox.append([toStarted(open, order, runtime, assignment)]);

  await recordWorkspace(outbox, watch);

  const { link, receipts } = senders;
  const session = runtime.start(order, inner);
  const getSessionId = () => session.getSessionId?.();
  const transcript = openTranscript({ runtime, order, getSessionId, log: parts.log });
  const describeWork = async () => {
    const files = await watch.countChanged();
    return { branch_name: order.branch, agent_type: runtime.name, ...(files === null ? {} : { files_changed: files }) };
  };
  const { atBoundary } = order;
  const agent = startAgent({ ...common, onOwed: receipts.wake, atBoundary, transcript, describeWork }, session);
  const saving = startSaving(transcript, { outbox, clock: parts.clock, getTurn: agent.getTurn }, inner);
  const everyMs = (settings.heartbeatSeconds ?? assignment.heartbeat_interval_s) * 1_000;
  const heartbeat = startHeartbeat(
    { ...common, everyMs, getActivity: agent.getActivity, getTurn: agent.getTurn, measureLoad: openLoadMeter() },
    inner,
  );
  const inbox = startInbox(
    {
      ...common,
      pollMs: settings.pollMs,
      onOwed: receipts.wake,
      deliver: (message) => deliver(session, message),
    },
    inner,
  );

  const ended = Promise.race([link.done, inbox.done, receipts.done]).then((ending) => ({ ending }));
  const first: { ending?: Ending | undefined; end?: AgentEnd } = await Promise.race([
    ended,
    agent.done.then((end) => ({ end })),
  ]);
  stop.abort();
  const end = await agent.done;
  await Promise.all([heartbeat.done, inbox.done, saving.done]);
  const { ending } = first;
  const reason = ending?.reason ?? (signal.aborted ? String(signal.reason ?? "signal") : end.reason);
  await outbox.append([toShutdown(reason, end.turns, parts.clock.now())]).catch(() => {}); // a full disk: there is nobody left to tell
  if (ending !== undefined)
    return { code: toExitCode(ending), reason: `${ending.reason}: ${ending.detail}`, unsent: 0 };
  return {
    code: end.reason === "failed" && !signal.aborted ? EXIT_CODES.failed : EXIT_CODES.done,
    reason: end.detail ?? reason,
    unsent: 0,
  };
}

/** A signal that follows another after some time. */
function toLater(signal: AbortSignal, ms: number): AbortSignal {
  const later = new AbortController();
  const start = () => setTimeout(() => later.abort(), ms).unref();
  if (signal.aborted) start();
  else signal.addEventListener("abort", start, { once: true });
  return later.signal;
}

/** A workspace that is no repository, or a machine without git, is no reason not to work. */
async function connectOrigin({ parts, settings, childEnv, bridge }: Open, assignment: Assignment): Promise<void> {
  if (assignment.git_path === null) return;
  const branch = settings.branch ?? assignment.branch;
  const url = `${bridge.url}${assignment.git_path}`;
  await ensureRemote({ git: createGit(childEnv["PATH"]), cwd: settings.cwd, url, branch }).catch((error: unknown) =>
    parts.log("git.no_remote", { detail: String(error) }),
  );
}

async function restoreOwn(
  { parts, settings, outbox, transport }: Open,
  assignment: Assignment,
  watch: WorkspaceWatch,
  signal: AbortSignal,
): Promise<Resume | null> {
  const runtimeName = toRuntimeName(settings, assignment);
  const runtime = parts.runtimes[runtimeName];
  if (runtime === undefined) return null;
  const { sandboxId, cwd, isIsolated: isOurs, resumeSessionId: named } = settings;
  const own = { outbox, transport, sandboxId, watch, runtime, runtimeName, cwd, isOurs, home: toHome(settings) };
  if (named !== undefined && assignment.resume === null) return restoreNamed(own, named, settings.sessionTranscript);
  return restoreRun({ ...own, clock: parts.clock, random: parts.random, log: parts.log }, assignment.resume, signal);
}

/** What an earlier life of this worker recorded and did not send: its end may come before it knows what to do. Returns what is left. */
async function sendRest(open: Open, until: AbortSignal): Promise<number> {
  const sending = new AbortController();
  const artifacts = await openArtifactSpool(toSpool(open.settings));
  const link = startLink({ ...toCommon(open), artifacts }, sending.signal);
  await link.drained(until);
  sending.abort();
  await link.done;
  return open.outbox.pending;
}

async function runOpen(open: Open, signal: AbortSignal): Promise<WorkerExit> {
  const { parts, settings, outbox } = open;
  const common = toCommon(open);
  const fetched = await fetchAssignment(common, signal);
  if (fetched.kind === "closed")
    return { code: EXIT_CODES.done, reason: "signal", unsent: await sendRest(open, toLater(signal, parts.drainMs)) };
  if (fetched.kind === "ended")
    return {
      code: toExitCode(fetched.ending),
      reason: `${fetched.ending.reason}: ${fetched.ending.detail}`,
      unsent: outbox.pending,
    };
  if (fetched.kind === "refused")
    throw new AppError("config.invalid", `the server refused the assignment: ${fetched.detail}`);

  const artifacts = await openArtifactSpool(toSpool(settings));
  const watch = watchWorkspace({
    cwd: settings.cwd,
    stateDir: settings.stateDir,
    path: open.childEnv["PATH"],
    clock: parts.clock,
    log: parts.log,
    keepArtifact: (bytes) => artifacts.keep(bytes),
    note: outbox.getNote(CHECKPOINT_NOTE),
  });
  await connectOrigin(open, fetched.assignment);
  const resume = await restoreOwn(open, fetched.assignment, watch, signal);
  const order = await prepareOrder(settings, fetched.assignment, {
    resume,
    clock: parts.clock,
    newId,
    env: open.childEnv,
    mark: outbox.getNote("mark"),
    bridgeUrl: open.bridge.url,
    isBudgetSpent: open.bridge.isBudgetSpent,
    keepArtifact: (bytes) => artifacts.keep(bytes),
    atBoundary: watch.capture,
  });
  const sending = new AbortController();
  const late = toLater(signal, parts.drainMs);
  // A full disk must not hold up an end that was asked for: what waits for room is refused then.
  late.addEventListener("abort", () => void outbox.close());
  const link = startLink({ ...common, artifacts }, sending.signal);
  const receipts = startReceipts(common, sending.signal);
  try {
    const exit = await work(open, fetched.assignment, { link, receipts }, order, watch, signal);
    const isHurried = exit.code === EXIT_CODES.ended || exit.code === EXIT_CODES.revoked;
    const until = isHurried ? AbortSignal.timeout(parts.drainMs) : late;
    await Promise.all([link.drained(until), receipts.drained(until)]);
    if (outbox.pending > 0) parts.log("worker.undrained", { pending: outbox.pending });
    return { ...exit, unsent: outbox.pending };
  } finally {
    sending.abort();
    await Promise.all([link.done, receipts.done]);
  }
}

/** Runs one worker until its work is over, the server ends it, or `signal` is aborted. Rejects with an AppError when it cannot start. */
export async function runWorker(
  env: Environment,
  signal: AbortSignal,
  given: Partial<WorkerParts> = {},
): Promise<WorkerExit> {
  const parts = { ...DEFAULTS, ...given };
  const settings = parseSettings(env, process.cwd());
  const lock = await lockDirectory(settings.stateDir, newId());
  const transport = parts.createTransport(settings.callbackUrl, settings.token);
  try {
    const outbox = await openOutbox({
      disk: await parts.openDisk(settings.stateDir),
      clock: parts.clock,
      fault: parts.fault,
      openId: newId(),
      limitBytes: parts.outboxLimitBytes,
      compactAtBytes: COMPACT_AT_BYTES,
      onTrouble: (error) =>
        error === undefined
          ? parts.log("outbox.recovered")
          : parts.log("outbox.waiting", { detail: error.code === "ENOSPC" ? "the disk is full" : error.message }),
    });
    if (outbox.tornBytes > 0) parts.log("outbox.torn", { bytes: outbox.tornBytes });
    let bridge: Bridge | undefined;
    try {
      bridge = await openBridge({ callbackUrl: settings.callbackUrl, token: settings.token, log: parts.log });
      const childEnv = toChildEnv(env, dirname(process.execPath));
      return await runOpen({ parts, settings, outbox, transport, childEnv, bridge }, signal);
    } finally {
      await bridge?.close();
      await outbox.close();
    }
  } finally {
    transport.close();
    await lock.release();
  }
}
