/** When a run counts as late, dead, idle or stuck, as it was configured. */
import type { WatchLimits } from "@drover/core";
import type { Config } from "@drover/contract";

const MINUTE_MS = 60_000;

export const toWatchLimits = (config: Config): WatchLimits => ({
  heartbeatMs: config.heartbeatIntervalSeconds * 1_000,
  deadMs: config.deadThresholdSeconds * 1_000,
  idleMs: config.idleThresholdMinutes * MINUTE_MS,
  stuckMs: config.stuckThresholdMinutes * MINUTE_MS,
  afterCompletionMs: config.postCompletionSeconds * 1_000,
  graceMs: config.nudgeGraceMinutes * MINUTE_MS,
  isQuietWatched: config.idleDetectionEnabled,
});
