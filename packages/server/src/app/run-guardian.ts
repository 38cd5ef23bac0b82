/** The guardian: reads the signs of every running agent, does what its ladder says, and keeps whether it helped. */
import {
  decideIntervention,
  decideOutcome,
  readSignals,
  readStanding,
  toNudge,
  toVerdictSignal,
  type Aftermath,
  type GuardianMode,
  type GuardianSettings,
  type Intention,
  type RunContext,
  type Signal,
} from "@drover/core";
import {
  AppError,
  TERMINAL_SANDBOX_STATES,
  type InterventionId,
  type MessageId,
  type SandboxState,
} from "@drover/contract";
import { listAnalyses } from "../store/analyses.ts";
import { takeTurn } from "../store/replicas.ts";
import { lockSandboxes } from "../store/sandboxes.ts";
import {
  countSteps,
  findInjected,
  insertIntervention,
  listInterventions,
  listUnsettled,
  listWatched,
  settleIntervention,
  type InterventionRow,
  type WatchedRow,
} from "../store/supervision.ts";
import type { Deps } from "./deps.ts";
import { draftAgentEvent, draftSandboxEvent, writeWithEvents } from "./event-log.ts";
import { foldRun, toRunContext, type Folded } from "./fold-run.ts";
import { judgeRun } from "./judge-run.ts";
import { pauseByServer, stopByServer } from "./act-on-sandbox.ts";
import { queueMessage } from "./send-message.ts";

const BATCH = 1_000;
const HISTORY = 50;
/** Not begun, or looked at for the last time: see `listUnsettled`. */
const UNSEEN: ReadonlySet<SandboxState> = new Set(["pending", "creating", ...TERMINAL_SANDBOX_STATES]);
/** A little less than the time between two beats. */
const TURN_SHARE = 0.9;

export const toGuardianMode = ({ config }: Deps): GuardianMode =>
  config.autoSteeringEnabled ? config.guardianMode : "shadow";

const toSettings = (deps: Deps): GuardianSettings => ({
  mode: toGuardianMode(deps),
  coolDownMs: deps.config.guardianCoolDownSeconds * 1_000,
  mostPerSandbox: deps.config.guardianMaxInterventions,
});

/** The judge's own sign stands as its newest verdict since then says. */
async function readJudged(deps: Deps, row: WatchedRow, sinceSeq: number): Promise<Aftermath["standing"]> {
  const [newest] = await listAnalyses(deps.db, { projectId: null, sandboxId: row.id, before: undefined, limit: 1 });
  if (newest === undefined || newest.cursor_seq <= sinceSeq) return "unknown";
  return toVerdictSignal(newest.verdict) === undefined ? "gone" : "there";
}

interface Looked {
  readonly folded: Folded;
  readonly run: RunContext;
  readonly signals: readonly Signal[];
  readonly nowMs: number;
}

/** Whatever the guardian says of it: a person's pace is no fault of the agent's. */
const isTrouble = ({ signal, level }: Signal): boolean => level === "critical" && signal !== "waiting_for_answer";

/** Follows what was done to its effect: was the agent given it, did it go on, is the sign gone. */
async function settle(
  deps: Deps,
  row: WatchedRow,
  past: InterventionRow,
  { folded, run, signals, nowMs }: Looked,
): Promise<void> {
  const injected =
    past.message_id === null
      ? past.at_seq
      : (past.injected_seq ?? (await findInjected.maybe(deps.db, row.id, past.at_seq, past.message_id))?.seq ?? null);
  const sinceSeq = injected ?? past.at_seq;
  const { steps } = await countSteps.one(deps.db, row.id, sinceSeq);
  const saidOver = folded.watch.completedMs !== null;
  const outcome = decideOutcome({
    rung: past.rung,
    isInjected: injected !== null,
    steps,
    standing:
      past.signal === "judged_drift"
        ? await readJudged(deps, row, sinceSeq)
        : readStanding(folded.signals, past.signal, run, nowMs),
    isWorse:
      (row.state === "failed" && saidOver) ||
      (past.level !== "critical" &&
        signals.some((one) => one.signal !== past.signal && isTrouble(one) && (one.seqs[0] ?? 0) > sinceSeq)),
    end: saidOver ? "completed" : TERMINAL_SANDBOX_STATES.has(row.state) ? "ended" : "none",
    elapsedMs: nowMs - past.created_at.getTime(),
  });
  const isFollowed = injected !== null && past.message_id !== null && past.injected_seq === null;
  if (outcome !== "pending" || isFollowed)
    await settleIntervention(deps.db, past.id, outcome, past.message_id === null ? null : injected);
}

/** What a nudge says, in the transaction that records it: an intervention without its message, or the other way round, is none. */
async function record(deps: Deps, row: WatchedRow, intention: Intention, atSeq: number): Promise<boolean> {
  const id = `int-${deps.ids.event().replaceAll("-", "").slice(-12)}` as InterventionId;
  const { signal, rung } = intention;
  const { mode } = toSettings(deps);
  return writeWithEvents(deps, async (tx, append) => {
    const [sandbox] = await lockSandboxes(tx, [row.id]);
    if (sandbox === undefined || TERMINAL_SANDBOX_STATES.has(sandbox.state)) return false;
    const isSpoken = rung === "nudge";
    const message = isSpoken
      ? await queueMessage(
          tx,
          deps,
          sandbox,
          { content: toNudge(intention), message_type: "guardian_nudge", delivery: "steer" },
          { sender: "guardian", source: "guardian" },
        )
      : undefined;
    const messageId: MessageId | null = message?.id ?? null;
    await insertIntervention(tx, {
      id,
      sandbox_id: row.id,
      project_id: row.project_id,
      signal: signal.signal,
      level: signal.level,
      rung,
      mode,
      reason: signal.detail,
      seqs: [...signal.seqs],
      message_id: messageId,
      at_seq: atSeq,
    });
    const told = {
      eventType: "guardian.steering.intervention",
      data: {
        intervention_id: id,
        steering_type: signal.level === "critical" ? "correction" : "guidance",
        signal: signal.signal,
        level: signal.level,
        rung,
        mode,
        reason: signal.detail,
        evidence: [...signal.seqs],
        message: isSpoken ? toNudge(intention) : null,
        message_id: messageId,
        needs_person: rung === "ask" || rung === "pause" || rung === "stop",
        actor_type: "guardian",
        actor_id: "guardian",
        // Signs are counted, not guessed.
        confidence: null,
      },
      source: "guardian" as const,
    };
    await append([
      draftSandboxEvent(deps.ids, sandbox, told),
      draftAgentEvent(deps.ids, sandbox, told),
      ...(message === undefined ? [] : [message.event]),
    ]);
    return true;
  });
}

async function act(deps: Deps, row: WatchedRow, { rung, signal }: Intention, abort: AbortSignal): Promise<void> {
  if (rung === "pause") await pauseByServer(deps, row.id, `guardian: ${signal.signal}`, abort);
  if (rung === "stop") await stopByServer(deps, row.id, `guardian: ${signal.signal}`);
}

async function guard(deps: Deps, row: WatchedRow, abort: AbortSignal): Promise<boolean> {
  const folded: Folded | undefined = await foldRun(deps, row);
  if (folded === undefined) return false;
  const run = await toRunContext(deps, row);
  const nowMs = deps.clock.now().getTime();
  const signals = readSignals(folded.signals, run, nowMs);
  const ofRun = { projectId: null, sandboxId: row.id, before: undefined, limit: HISTORY };
  const before = await listInterventions(deps.db, ofRun);
  for (const past of before)
    if (past.outcome === "pending") await settle(deps, row, past, { folded, run, signals, nowMs });
  if (row.state !== "running") return false;
  const history = (await listInterventions(deps.db, ofRun)).map((past) => ({
    signal: past.signal,
    rung: past.rung,
    atMs: past.created_at.getTime(),
    outcome: past.outcome,
  }));
  const seen = { cursorSeq: folded.cursorSeq, hasSigns: signals.length > 0 };
  const judged = await judgeRun(deps, row, seen, abort);
  const intention = decideIntervention(
    judged === undefined ? signals : [...signals, judged],
    history,
    toSettings(deps),
    nowMs,
  );
  if (intention === undefined || !(await record(deps, row, intention, folded.cursorSeq))) return false;
  await act(deps, row, intention, abort);
  return true;
}

export async function runGuardianOnce(deps: Deps, abort: AbortSignal): Promise<{ looked: number; intervened: number }> {
  const { guardianIntervalSeconds, maxConcurrentAnalyses: atOnce } = deps.config;
  // Each replica guards what it made, because only it can stop that; what nobody made is guarded by one of them.
  const hasTurn =
    (await takeTurn.maybe(deps.db, "run-guardian", deps.host, guardianIntervalSeconds * TURN_SHARE)) !== undefined;
  const isMine = ({ host }: WatchedRow) => (host === null ? hasTurn : host === deps.host);
  const running = (await listWatched(deps.db, BATCH)).filter(({ state }) => !UNSEEN.has(state)).filter(isMine);
  // What came of the last word is told also of a run that is over; nothing of it has to be stopped.
  const rows = [...running, ...(hasTurn ? await listUnsettled(deps.db, BATCH) : [])];
  let intervened = 0;
  for (let start = 0; start < rows.length && !abort.aborted; start += atOnce) {
    const done = await Promise.all(
      rows.slice(start, start + atOnce).map((row) =>
        // Expected: the provider is away, or the run ended meanwhile. The next beat looks again.
        guard(deps, row, abort).catch((error: unknown) => {
          deps.log.warn("guardian.failed", {
            sandbox: row.id,
            reason: error instanceof AppError ? error.message : String(error),
          });
          return false;
        }),
      ),
    );
    intervened += done.filter(Boolean).length;
  }
  return { looked: rows.length, intervened };
}
