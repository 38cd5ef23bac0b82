/** Looks after every run that has not ended: names its condition, speaks to the quiet, ends the dead, leaves the slow alone. */
import {
  decideCondition,
  decideWatch,
  step,
  SANDBOX,
  toSilenceRung,
  type Finding,
  type WatchLimits,
} from "@drover/core";
import { AppError, type SandboxId } from "@drover/contract";
import { loadKept } from "../store/resume.ts";
import { closeSandbox, lockSandboxes, revokeSandboxTokens } from "../store/sandboxes.ts";
import { claimNudge, listWatched, saveCondition, type WatchedRow } from "../store/supervision.ts";
import type { Deps } from "./deps.ts";
import { draftAgentEvent, draftSandboxEvent, draftTransition, writeWithEvents, type EventDraft } from "./event-log.ts";
import { foldRun } from "./fold-run.ts";
import { queueMessage } from "./send-message.ts";
import { toWatchLimits } from "./watch-limits.ts";

const BATCH = 1_000;

const NUDGES = {
  idle: "You have done nothing for a while. Go on with the next step, or complete the task if it is done.",
  stuck:
    "Nothing has come from you for a while. If something hangs, stop it and go on; if you wait for something, say for what.",
} as const;

async function nudge(deps: Deps, row: WatchedRow, { condition, sinceMs }: Finding): Promise<boolean> {
  const content = NUDGES[condition === "idle" ? "idle" : "stuck"];
  return writeWithEvents(deps, async (tx, append) => {
    const [sandbox] = await lockSandboxes(tx, [row.id]);
    if (sandbox === undefined) return false;
    const mine = await claimNudge.maybe(tx, row.id, new Date(sinceMs), deps.clock.now());
    if (mine === undefined) return false;
    const { event } = await queueMessage(
      tx,
      deps,
      sandbox,
      { content, message_type: "guardian_nudge", delivery: "steer" },
      { sender: "guardian", source: "guardian" },
    );
    await append([event]);
    return true;
  });
}

/** An external one is over at once; any other is destroyed by the reaper, which saves what it can before. */
async function end(
  deps: Deps,
  id: SandboxId,
  { on, cause }: { readonly on: "failed" | "terminated"; readonly cause: string },
  idleSeconds: number,
): Promise<boolean> {
  const isEnded = await writeWithEvents(deps, async (tx, append) => {
    const [row] = await lockSandboxes(tx, [id]);
    if (row === undefined) return false;
    // A completed run stays what it is, whatever became of its worker.
    const trigger = row.state === "completed" ? "terminated" : on;
    const next = step(SANDBOX, row.state, trigger);
    if (!next.ok) return false;
    if (row.provider === "external") {
      await closeSandbox(tx, id);
      await revokeSandboxTokens(tx, id);
    }
    // Workers save as they go, the agent's memory every second and its files at every step: this says what there is.
    const kept = await loadKept.one(tx, id);
    await append([
      draftTransition(deps.ids, row, { from: row.state, to: next.to, cause }, null),
      draftSandboxEvent(deps.ids, row, {
        eventType: "TERMINATED_IDLE",
        data: {
          reason: cause,
          idle_duration_seconds: idleSeconds,
          task_id: row.task_id,
          transcript_saved: kept.transcript,
          checkpoint_saved: kept.checkpoint,
        },
      }),
    ]);
    return true;
  });
  if (isEnded) {
    deps.credentials.forget();
    deps.wake("reap-sandboxes");
  }
  return isEnded;
}

/** What of a new condition others are told: silence, how far it has come, and its end. */
function draftSilence(
  deps: Deps,
  row: WatchedRow,
  condition: string,
  { contactMs, nowMs }: { readonly contactMs: number; readonly nowMs: number },
): readonly EventDraft[] {
  const { heartbeatMs } = toWatchLimits(deps.config);
  const [before, rung] = [toSilenceRung(row.condition), toSilenceRung(condition)];
  const silenceMs = nowMs - contactMs;
  const change = (old_status: string, new_status: string, reason: string) =>
    draftAgentEvent(deps.ids, row, {
      eventType: "AGENT_STATUS_CHANGED",
      data: { old_status, new_status, reason },
    });
  if (rung === undefined) {
    // After a restart silence is counted anew, which is no sign of life.
    const isHeard = before !== undefined && row.state === "running" && silenceMs < heartbeatMs;
    return isHeard ? [change("DEGRADED", "RUNNING", "heard again")] : [];
  }
  const missed = draftAgentEvent(deps.ids, row, {
    eventType: "HEARTBEAT_MISSED",
    data: {
      action: rung,
      missed_count: contactMs === 0 ? null : Math.floor(silenceMs / heartbeatMs),
      seconds_since_heartbeat: contactMs === 0 ? null : Math.round(silenceMs / 1_000),
      last_heartbeat: contactMs === 0 ? null : new Date(contactMs).toISOString(),
    },
  });
  const isNews = before === undefined && row.state === "running" && rung !== "failed";
  return [missed, ...(isNews ? [change("RUNNING", "DEGRADED", "heartbeat_missed")] : [])];
}

/** Told by whoever notes it: another replica may look at the same moment. */
const note = (
  deps: Deps,
  row: WatchedRow,
  { condition, sinceMs }: Finding,
  heard: { readonly contactMs: number; readonly nowMs: number },
): Promise<void> =>
  writeWithEvents(deps, async (tx, append) => {
    if ((await saveCondition.maybe(tx, row.id, condition, new Date(sinceMs))) === undefined) return;
    await append(draftSilence(deps, row, condition, heard));
  });

async function look(
  deps: Deps,
  row: WatchedRow,
  limits: WatchLimits,
  watchingSinceMs: number,
): Promise<"nudged" | "ended" | "left"> {
  const folded = await foldRun(deps, row);
  if (folded === undefined) return "left";
  const nowMs = deps.clock.now().getTime();
  // Nobody could be heard before this process watched: silence counts from then.
  const startedMs = Math.max((row.started_at ?? row.created_at).getTime(), watchingSinceMs);
  const contactMs = Math.max(folded.watch.contactMs ?? 0, row.last_contact_at?.getTime() ?? 0);
  const facts = { ...folded.watch, contactMs };
  const finding = decideCondition({ state: row.state, startedMs, facts }, limits, nowMs);
  if (finding.condition !== row.condition) await note(deps, row, finding, { contactMs, nowMs });
  const act = decideWatch(finding, row.nudged_at?.getTime() ?? null, limits, nowMs);
  if (act.kind === "nudge") return (await nudge(deps, row, finding)) ? "nudged" : "left";
  if (act.kind === "leave") return "left";
  const idleSeconds = Math.round((nowMs - finding.sinceMs) / 1_000);
  return (await end(deps, row.id, act, idleSeconds)) ? "ended" : "left";
}

export async function superviseRunsOnce(
  deps: Deps,
  signal: AbortSignal = new AbortController().signal,
): Promise<{ looked: number; nudged: number; ended: number }> {
  const limits = toWatchLimits(deps.config);
  // Who slept, or was without a database, could hear nobody either.
  const watchingSinceMs = Math.max(deps.startedMs, deps.passes.get("supervise-runs")?.unbrokenSinceMs ?? 0);
  const counts = { looked: 0, nudged: 0, ended: 0, left: 0 };
  for (const row of await listWatched(deps.db, BATCH)) {
    if (signal.aborted) break;
    // Expected: it ended while it was looked at. Nothing is concluded from that.
    const outcome = await look(deps, row, limits, watchingSinceMs).catch((error: unknown) => {
      if (!(error instanceof AppError)) throw error;
      deps.log.debug("supervision.look_failed", { sandbox: row.id, reason: error.message });
      return "left" as const;
    });
    counts.looked += 1;
    counts[outcome] += 1;
  }
  return counts;
}
