/** Writes the notes of sandboxes, and gives each a kernel uid of its own. */
import { createHash } from "node:crypto";
import { resolve } from "node:path";
import { AppError } from "@drover/contract";
import type { SandboxSpec } from "../../ports/sandbox-provider.ts";
import { listPlaces, readNote, writeNote, type Note, type Place } from "./places.ts";
import { listUsedUids } from "./process-table.ts";

const FIRST_UID = 20_000;
const LAST_UID = 59_999;

export interface Notes {
  noteNew(place: Place, spec: SandboxSpec, hasImage: boolean): Promise<Note>;
  /** The note as it is then; undefined where there is none. */
  change(place: Place, change: (note: Note) => Partial<Note>): Promise<Note | undefined>;
}

/** Another installation on this machine counts from elsewhere, and what runs anywhere is not taken again. */
async function pickUid(base: string): Promise<number> {
  const notes = await Promise.all((await listPlaces(base)).map(readNote));
  const used = new Set<number | null | undefined>([...notes.map((note) => note?.uid), ...listUsedUids()]);
  const count = LAST_UID - FIRST_UID + 1;
  const start = createHash("sha256").update(resolve(base)).digest().readUInt32BE(0) % count;
  for (let step = 0; step < count; step += 1) {
    const uid = FIRST_UID + ((start + step) % count);
    if (!used.has(uid)) return uid;
  }
  throw new AppError("sandbox.unavailable", "every uid for sandboxes is taken; prune some");
}

/** One at a time, so that no two sandboxes get the same uid and no change of a note undoes another. */
export function openNotes(base: string, isRoot: boolean): Notes {
  let noting: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const next = noting.then(work);
    noting = next.catch(() => undefined);
    return next;
  };
  return {
    noteNew: (place, spec, hasImage) =>
      inTurn(async () => {
        const note: Note = {
          key: spec.key,
          labels: { ...spec.labels },
          limits: spec.limits,
          env: { ...spec.env },
          uid: isRoot ? await pickUid(base) : null,
          stopReason: null,
          isPaused: false,
          hasImage,
          group: null,
          watchdogKills: 0,
        };
        await writeNote(place, note);
        return note;
      }),
    change: (place, change) =>
      inTurn(async () => {
        const note = await readNote(place);
        if (note === undefined) return undefined;
        const changed = { ...note, ...change(note) };
        await writeNote(place, changed);
        return changed;
      }),
  };
}
