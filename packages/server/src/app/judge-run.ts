/** Asks the judge about a run, believes only what it can check, and keeps that. */
import { randomBytes } from "node:crypto";
import { isSound, toTranscript, toVerdictSignal, type Signal } from "@drover/core";
import type { AnalysisId, JsonObject, Verdict, VerdictAnswer } from "@drover/contract";
import { insertAnalysis, listAnalyses, listNewest, measureRun, noteJudged } from "../store/analyses.ts";
import type { WatchedRow } from "../store/supervision.ts";
import { askModel } from "./ask-model.ts";
import type { Deps } from "./deps.ts";

/** With signs of trouble the judge is asked at once, else on a slower beat. */
const TROUBLED_MS = 60_000;
const QUIET_MS = 300_000;
const SHOWN = 200;
const GOAL_CHARACTERS = 4_000;
const EARLIER = 10;
const SUMMARY_CHARACTERS = 300;
/** They say nothing about what the agent does. */
const UNSHOWN = ["agent.usage", "sandbox.egress", "MESSAGE_STATE_CHANGED"];

const toText = (data: JsonObject): string => {
  const { content, text, message, tool, input, result, error, file_path: file } = data;
  const said = [content, text, message, tool, file, error, result].filter((one) => typeof one === "string");
  return [...said, ...(typeof input === "object" && input !== null ? [JSON.stringify(input)] : [])].join(" ");
};

/** What was found before, with when, oldest first. */
async function loadEarlier(deps: Deps, row: WatchedRow): Promise<string> {
  const by = { projectId: null, sandboxId: row.id, before: undefined, limit: EARLIER };
  const nowMs = deps.clock.now().getTime();
  return (await listAnalyses(deps.db, by))
    .toReversed()
    .map(({ verdict, created_at: at }) => {
      const minutes = Math.round((nowMs - at.getTime()) / 60_000);
      return `${minutes} min ago: ${verdict.trajectory_summary.replaceAll(/\s+/g, " ").slice(0, SUMMARY_CHARACTERS)}`;
    })
    .join("\n");
}

/** What the server knows better than a model is measured. */
async function withFigures(deps: Deps, row: WatchedRow, { cursorSeq }: Seen, verdict: VerdictAnswer): Promise<Verdict> {
  const { length, last_said } = await measureRun.one(deps.db, row.id, cursorSeq);
  const begunMs = (row.started_at ?? row.created_at).getTime();
  return {
    ...verdict,
    conversation_length: length,
    session_duration: Math.max(0, (deps.clock.now().getTime() - begunMs) / 1_000),
    last_claude_message_marker: last_said,
  };
}

interface Seen {
  readonly cursorSeq: number;
  readonly hasSigns: boolean;
  /** Somebody asked for it: the beat does not count. */
  readonly isForced?: boolean;
}

function isDue(row: WatchedRow, { cursorSeq, hasSigns, isForced = false }: Seen, nowMs: number): boolean {
  if (isForced) return true;
  if (cursorSeq <= row.judged_seq) return false;
  return nowMs - (row.judged_at?.getTime() ?? 0) >= (hasSigns ? TROUBLED_MS : QUIET_MS);
}

/** A sign that the ladder can act on, or none: also when there is no judge, when it is away, and when it cites what is not there. */
export async function judgeRun(
  deps: Deps,
  row: WatchedRow,
  seen: Seen,
  signal: AbortSignal,
): Promise<Signal | undefined> {
  if (!deps.judge.isThere || !isDue(row, seen, deps.clock.now().getTime())) return undefined;
  // The newest events: what an agent did first is in its goal, and what became of it in earlier verdicts.
  const events = (await listNewest(deps.db, row.id, seen.cursorSeq, UNSHOWN, SHOWN)).toReversed();
  // Heartbeats are no news.
  if (seen.isForced !== true && (events.at(-1)?.seq ?? 0) <= row.judged_seq) return undefined;
  const marker = randomBytes(12).toString("hex");
  const quoted = events.map(({ seq, event_type, event_data }) => ({ seq, event_type, text: toText(event_data) }));
  const run = {
    goal: (row.prompt ?? "").slice(0, GOAL_CHARACTERS),
    phase: row.phase,
    earlier: await loadEarlier(deps, row),
    transcript: toTranscript(quoted, marker),
    marker,
  };
  const account = { purpose: "judge", projectId: row.project_id, sandboxId: row.id, taskId: row.task_id } as const;
  const verdict = await askModel(deps, account, (judge, wire) => judge.judge(run, wire, signal));
  await noteJudged(deps.db, row.id, seen.cursorSeq);
  if (verdict === undefined) return undefined;
  const { model } = deps.judge;
  if (!isSound(verdict, new Set(events.map(({ seq }) => seq)))) {
    deps.log.warn("judge.unsound_verdict", { sandbox: row.id, model });
    return undefined;
  }
  const id = `ana-${randomBytes(6).toString("hex")}` as AnalysisId;
  await insertAnalysis(deps.db, id, row.id, model, seen.cursorSeq, await withFigures(deps, row, seen, verdict));
  return toVerdictSignal(verdict);
}
