/** Sandboxes' rows as this process last wrote them, so that the next event of one can be appended without reading it again. Never believed:
 *  whoever appends says which version it saw, and the database compares. */
import type { SandboxFacts } from "@drover/core";
import type { SandboxId } from "@drover/contract";
import type { SandboxRow } from "../store/sandboxes.ts";

/** Long before numbers of transactions come round again. */
const REMEMBER_MS = 10 * 60 * 1_000;
const REMEMBER_COUNT = 2_000;

interface Seen {
  readonly row: SandboxRow;
  readonly version: string;
  readonly untilMs: number;
}

export interface SeenSandboxes {
  /** Undefined unless all of them are known. */
  find(ids: readonly SandboxId[], nowMs: number): ReadonlyMap<SandboxId, Seen> | undefined;
  remember(
    row: SandboxRow,
    written: { readonly facts: SandboxFacts; readonly version: string; readonly nowMs: number },
  ): void;
  forget(ids: readonly SandboxId[]): void;
}

export function openSeenSandboxes(): SeenSandboxes {
  const known = new Map<SandboxId, Seen>();
  return {
    find: (ids, nowMs) => {
      const found = new Map<SandboxId, Seen>();
      for (const id of ids) {
        const seen = known.get(id);
        if (seen === undefined || seen.untilMs < nowMs) return undefined;
        found.set(id, seen);
      }
      return found;
    },
    remember: (row, { facts, version, nowMs }) => {
      if (known.size >= REMEMBER_COUNT) known.clear();
      known.set(row.id, { row: { ...row, ...facts }, version, untilMs: nowMs + REMEMBER_MS });
    },
    forget: (ids) => {
      for (const id of ids) known.delete(id);
    },
  };
}
