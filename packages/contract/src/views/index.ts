/** Folds: events -> what a screen shows. Pure, shared by the web UI and by anything else that shows a run. */
export { findAnswer } from "./addressed.ts";
export { toActivityLine } from "./activity.ts";
export { toCause } from "./cause.ts";
export { blameLines, listFileSteps, toChangeStory, type ChangeStory, type FileStep } from "./blame.ts";
export {
  readCodeLine,
  toLanguage,
  type CodeKind,
  type CodePiece,
  type CodeState,
  type Language,
} from "./code-tokens.ts";
export { parseCast, type Cast } from "./asciicast.ts";
export {
  compareByFile,
  compareRuns,
  isFailedRow,
  toTurns,
  type Comparison,
  type FilePair,
  type FileTouch,
  type RunTurn,
  type TurnPair,
} from "./compare.ts";
export { toContextFill } from "./context-fill.ts";
export { diffTexts } from "./diff-texts.ts";
export { toSides, withoutBlankChanges, type DiffPair } from "./diff-sides.ts";
export { countLines, parseDiff, type DiffLine } from "./diff.ts";
export { emptyFeed, foldFeed, rowOfSeq, type ChangedFile, type FeedView, type Spent } from "./feed.ts";
export {
  FEED_GROUPS,
  toGroup,
  type CommandRow,
  type DeliveryStep,
  type EditRow,
  type ErrorRow,
  type FeedGroup,
  type FeedRow,
  type FileEdit,
  type GuardianRow,
  type HeartbeatsRow,
  type LifecycleRow,
  type MessageRow,
  type PermissionRow,
  type PersonRow,
  type ReadsRow,
  type TodoItem,
  type TodoRow,
  type Tone,
  type ToolCall,
  type ToolRow,
  type UnknownRow,
  type UsageRow,
} from "./feed-row.ts";
export { toCommand, toSubject } from "./feed-tools.ts";
export { toLoad, type Load } from "./load.ts";
export { toLiveness, type Liveness } from "./liveness.ts";
export { readNumber, readText, type LogEvent } from "./log-event.ts";
export { eventAtFilm, indexOfSeq, listStops, pickStop, ReplayTrack, toFilm, type Stops } from "./replay.ts";
export { foldSandbox } from "./sandbox.ts";
export { createFinder } from "./search.ts";
export {
  stepPriority,
  TICKET_MOVES,
  TICKET_PRIORITIES,
  TICKET_STATES,
  toBoard,
  type BoardColumn,
  type TicketPriority,
} from "./board.ts";
export { splitPatch, type PatchFile } from "./patch-files.ts";
export {
  canScale,
  TIMELINE_SCALES,
  toTimelineAxis,
  toWindow,
  type TimelineAxis,
  type TimelineScale,
  type Window,
} from "./timeline-axis.ts";
export { toSpending } from "./spending.ts";
export { isTestFailed, isTestRun, readTestCounts, type TestCounts } from "./test-runs.ts";
export { toTimeline, type Span, type Timeline, type TurnSpan } from "./timeline.ts";
