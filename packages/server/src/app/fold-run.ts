/** Folds what a run's log has grown by into what supervision remembers of it. */
import {
  foldSignals,
  foldWatch,
  NO_SIGNAL_STATES,
  NO_WATCH_FACTS,
  SUPERVISED_BODIES,
  type RunContext,
  type WatchFacts,
} from "@drover/core";
import type { JsonObject, SandboxId } from "@drover/contract";
import {
  ensureSupervision,
  listEventsToFold,
  lockSupervision,
  saveSupervision,
  type WatchedRow,
} from "../store/supervision.ts";
import type { Deps } from "./deps.ts";

/** Between two pages others have their turn: a page of hundreds holds everybody up for tens of milliseconds. */
const PAGE = 64;
/** A run that grew more than this since the last look is read on at the next one. */
const PAGES = 160;

export interface Folded {
  readonly cursorSeq: number;
  readonly watch: WatchFacts;
  readonly signals: JsonObject;
}

export const toRunContext = async (
  deps: Deps,
  row: Pick<WatchedRow, "prompt" | "owned_files">,
): Promise<RunContext> => ({
  ownedFiles: row.owned_files,
  prompt: row.prompt ?? "",
  contextTokens: null,
  windows: await deps.models.listPrices(),
});

/** One page; undefined when the run is gone. */
async function foldPage(
  deps: Deps,
  id: SandboxId,
  run: RunContext,
): Promise<(Folded & { isMore: boolean }) | undefined> {
  return deps.db.tx(async (tx) => {
    const held = await lockSupervision.maybe(tx, id);
    if (held === undefined) return undefined;
    const events = await listEventsToFold(tx, id, held.cursor_seq, PAGE, SUPERVISED_BODIES);
    let watch = held.watch as unknown as WatchFacts;
    let signals: JsonObject = held.signals;
    for (const row of events) {
      const event = { ...row, atMs: row.created_at.getTime() };
      watch = foldWatch(watch, event);
      signals = foldSignals(signals, event, run);
    }
    const cursorSeq = events.at(-1)?.seq ?? held.cursor_seq;
    const folded = { cursorSeq, watch, signals };
    if (events.length > 0) await saveSupervision(tx, id, { cursorSeq, watch: { ...watch }, signals });
    return { ...folded, isMore: events.length === PAGE };
  });
}

export async function foldRun(deps: Deps, row: WatchedRow): Promise<Folded | undefined> {
  const run = await toRunContext(deps, row);
  if (row.watch === null) await ensureSupervision(deps.db, row.id, { ...NO_WATCH_FACTS }, NO_SIGNAL_STATES);
  let folded = await foldPage(deps, row.id, run);
  for (let page = 1; folded?.isMore === true && page < PAGES; page++) folded = await foldPage(deps, row.id, run);
  return folded;
}
