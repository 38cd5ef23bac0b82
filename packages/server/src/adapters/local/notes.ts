/** Writes the notes of sandboxes, and gives each a kernel uid of its own. */
import { createHash } from "node:crypto";
import { resolve } from "node:path";
import { AppError } from "@drover/contract";
import type { SandboxSpec } from "../../ports/sandbox-provider.ts";
import { listPlaces, readNote, writeNote, type Note, type Place } from "./places.ts";

const FIRST_UID = 20_000;
const LAST_UID = 59_999;

export interface Notes {
  noteNew(place: Place, spec: SandboxSpec, hasImage: boolean): Promise<Note>;
  /** The note as it is then; undefined where there is none. */
  change(place: Place, change: (note: Note) => Partial<Note>): Promise<Note | undefined>;
  /** Gives it to nobody: something else on this machine has it. */
  avoid(uid: number): void;
}

const COUNT = LAST_UID - FIRST_UID + 1;

/** The first free one from `start` on, and then from the first again. */
function pickUid(start: number, used: ReadonlySet<number>): number {
  for (let step = 0; step < COUNT; step += 1) {
    const uid = FIRST_UID + ((start - FIRST_UID + step) % COUNT);
    if (!used.has(uid)) return uid;
  }
  throw new AppError("sandbox.unavailable", "every uid for sandboxes is taken; prune some");
}

/** One at a time, so that no two sandboxes get the same uid and no change of a note undoes another. */
export function openNotes(base: string, isRoot: boolean): Notes {
  let noting: Promise<unknown> = Promise.resolve();
  const avoided = new Set<number>();
  /** Another installation on this machine counts from elsewhere. */
  let start = FIRST_UID + (createHash("sha256").update(resolve(base)).digest().readUInt32BE(0) % COUNT);
  /** By key. A sandbox keeps its uid, so each note is read once for it. */
  let given = new Map<string, number>();
  const nextUid = async (): Promise<number> => {
    const places = await listPlaces(base);
    const known = await Promise.all(
      places.map(async (place) => [place.key, given.get(place.key) ?? (await readNote(place))?.uid ?? 0] as const),
    );
    given = new Map(known.filter(([, uid]) => uid > 0));
    const uid = pickUid(start, new Set([...given.values(), ...avoided]));
    start = uid + 1;
    return uid;
  };
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
          uid: isRoot ? await nextUid() : null,
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
    avoid: (uid) => void avoided.add(uid),
  };
}
