/** Asks the judge about a run, believes only what it can check, and keeps that. */
import { randomBytes } from "node:crypto";
import { isSound, toTranscript, toVerdictSignal, type Signal } from "@drover/core";
import type { JsonObject } from "@drover/contract";
import { insertAnalysis, listNewest, noteJudged } from "../store/analyses.ts";
import type { WatchedRow } from "../store/supervision.ts";
import type { Deps } from "./deps.ts";

/** With signs of trouble the judge is asked at once, else on a slower beat. */
const TROUBLED_MS = 60_000;
const QUIET_MS = 300_000;
const SHOWN = 200;
const GOAL_CHARACTERS = 4_000;
/** They say nothing about what the agent does. */
const UNSHOWN = ["agent.usage", "sandbox.egress", "MESSAGE_STATE_CHANGED"];

const toText = (data: JsonObject): string => {
  const { content, text, message, tool, input, result, error, file_path: file } = data;
  const said = [content, text, message, tool, file, error, result].filter((one) => typeof one === "string");
  return [...said, ...(typeof input === "object" && input !== null ? [JSON.stringify(input)] : [])].join(" ");
};

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
  // The newest events: what an agent did first is in its goal.
  const events = (await listNewest(deps.db, row.id, seen.cursorSeq, UNSHOWN, SHOWN)).toReversed();
  const marker = randomBytes(12).toString("hex");
  const quoted = events.map(({ seq, event_type, event_data }) => ({ seq, event_type, text: toText(event_data) }));
  const goal = (row.prompt ?? "").slice(0, GOAL_CHARACTERS);
  const judgement = await deps.judge.judge({ goal, transcript: toTranscript(quoted, marker), marker }, signal);
  await noteJudged(deps.db, row.id, seen.cursorSeq);
  if (judgement === undefined) return undefined;
  const { verdict, model } = judgement;
  if (!isSound(verdict, new Set(events.map(({ seq }) => seq)))) {
    deps.log.warn("judge.unsound_verdict", { sandbox: row.id, model });
    return undefined;
  }
  const id = `ana-${randomBytes(6).toString("hex")}`;
  await insertAnalysis(deps.db, id, row.id, model, seen.cursorSeq, { ...verdict, evidence: [...verdict.evidence] });
  return toVerdictSignal(verdict);
}
