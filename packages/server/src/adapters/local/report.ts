/** What is to be told of a local sandbox: how it stands, what holds its limits, what it uses. */
import type { SandboxInfo } from "../../ports/sandbox-provider.ts";
import type { Cgroup, CgroupHost } from "./cgroup.ts";
import { measureImage } from "./disk-image.ts";
import type { Note, Place } from "./places.ts";
import type { Resident } from "./process-table.ts";
import { measureDisk } from "./watchdog.ts";

export interface Standing {
  readonly place: Place;
  readonly note: Note;
  readonly pid: number | undefined;
  readonly group: Cgroup | undefined;
  readonly oomKills: number;
  readonly residents: () => Promise<readonly Resident[]>;
}

export interface Enforcers {
  readonly groups: CgroupHost | undefined;
  readonly isPlain: boolean;
  readonly isRoot: boolean;
}

const toEnforcedBy = ({ groups, isPlain, isRoot }: Enforcers, note: Note): SandboxInfo["enforcedBy"] => ({
  memory: groups?.kind ?? "watchdog",
  cpu: groups?.kind ?? "none",
  // A user who is not alone would be limited together with everything else they run.
  processes: groups?.kind ?? (isPlain && !isRoot ? "none" : "rlimit"),
  disk: note.hasImage ? "quota" : "watchdog",
  network: isPlain ? "none" : "namespaces",
  isolation: isPlain ? "unsafe" : "namespaces",
});

async function measure({ place, note, pid, group, residents }: Standing): Promise<SandboxInfo["usage"]> {
  const diskBytes = note.hasImage
    ? await measureImage(place.image, pid)
    : await measureDisk([place.workspace, place.home]);
  if (group !== undefined) return { ...group.usage(), diskBytes };
  const found = pid === undefined ? [] : await residents();
  const memoryBytes = found.reduce((sum, one) => sum + one.memoryBytes, 0);
  return { memoryBytes, processes: found.length, diskBytes };
}

const toReason = (note: Note, oomKills: number): string =>
  note.stopReason ?? (oomKills > 0 ? "out of memory" : "its first process has ended");

export async function report(
  standing: Standing,
  enforcers: Enforcers,
  loadEnded: () => Promise<SandboxInfo["ended"]>,
): Promise<SandboxInfo> {
  const { note, pid, group, oomKills } = standing;
  const isFrozen = group?.isFrozen() ?? note.isPaused;
  return {
    state: pid === undefined ? "stopped" : isFrozen ? "paused" : "running",
    reason: pid === undefined ? toReason(note, oomKills) : null,
    isOomKilled: oomKills > 0 || (note.stopReason?.endsWith("of memory") ?? false),
    limits: note.limits,
    enforcedBy: toEnforcedBy(enforcers, note),
    ended: pid === undefined || isFrozen ? [] : await loadEnded(),
    usage: await measure(standing),
  };
}
