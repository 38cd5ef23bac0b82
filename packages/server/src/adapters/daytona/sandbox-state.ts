/** What each of Daytona's states means to us. */
import type { SandboxState } from "@daytona/sdk";
import type { SandboxInfo } from "../../ports/sandbox-provider.ts";

interface Meaning {
  readonly kind: "ready" | "coming" | "asleep" | "leaving" | "broken" | "gone";
  /** Undefined: it is not there any more. */
  readonly state: SandboxInfo["state"] | undefined;
  readonly reason: string | null;
}

const is = (kind: Meaning["kind"], state: Meaning["state"], reason: string | null = null): Meaning => ({
  kind,
  state,
  reason,
});

const ASLEEP = "Stopped at Daytona; resuming starts it again with its files";

/** `stopped` is our "paused": nothing but `pause` stops a sandbox here, since auto-stop is off, and `resume` starts it again. */
const MEANINGS: Readonly<Record<SandboxState, Meaning>> = {
  started: is("ready", "running"),
  snapshotting: is("ready", "running"),
  resizing: is("ready", "running"),
  forking: is("ready", "running"),
  creating: is("coming", "stopped", "Being created"),
  restoring: is("coming", "stopped", "Being restored"),
  starting: is("coming", "stopped", "Starting"),
  resuming: is("coming", "stopped", "Resuming"),
  pending_build: is("coming", "stopped", "Waiting for its image"),
  building_snapshot: is("coming", "stopped", "Its image is being built"),
  pulling_snapshot: is("coming", "stopped", "Its image is being pulled"),
  stopped: is("asleep", "paused", ASLEEP),
  archived: is("asleep", "paused", "Archived at Daytona; resuming brings it back with its files"),
  paused: is("asleep", "paused", "Paused at Daytona; resuming goes on with it"),
  stopping: is("leaving", "paused", "Stopping"),
  archiving: is("leaving", "paused", "Being archived"),
  pausing: is("leaving", "paused", "Pausing"),
  error: is("broken", "stopped", "Failed at Daytona"),
  build_failed: is("broken", "stopped", "Its image could not be built"),
  destroying: is("gone", undefined),
  destroyed: is("gone", undefined),
  unknown: is("leaving", "stopped", "Daytona does not know its state"),
  "11184809": is("leaving", "stopped", "In a state that this version does not know"),
};

/** A service newer than this table may answer with a state of its own. */
export const toMeaning = (state: SandboxState | undefined): Meaning => MEANINGS[state ?? "unknown"] ?? MEANINGS.unknown;
