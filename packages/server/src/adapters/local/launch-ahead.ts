/** The shell that begins the next sandbox, started ahead of it: it has mounted what is the same for all and waits to be told whose it is.
 *  Nothing of a sandbox is there by then, neither uid, groups, disk, namespaces nor a program of ours. */
import { rename } from "node:fs/promises";
import { removeTree } from "./end.ts";
import type { Launch, Launched, LaunchOptions } from "./launch.ts";
import { makePlace, type Place } from "./places.ts";

/** Whoever took the last one has the machine to itself first. */
const AFTER_MS = 300;

interface Waiting {
  readonly shape: string;
  readonly place: Place;
  readonly launched: Launched;
}

export interface LaunchesAhead {
  /** One that waits for such a sandbox, its place under the sandbox's name by now; undefined where there is none. */
  take(options: LaunchOptions): Promise<Launched | undefined>;
  close(): Promise<void>;
}

/** What a shell is given when it is started; all else it is told. */
const toShape = ({ limits, hasImage, agents }: LaunchOptions) => JSON.stringify([limits, hasImage, agents]);

export function openLaunchesAhead(launch: Launch, newPlace: () => Place): LaunchesAhead {
  let waiting: Waiting | undefined;
  let timer: NodeJS.Timeout | undefined;
  let work: Promise<void> = Promise.resolve();
  let isClosed = false;

  const discard = async ({ place, launched }: Waiting) => {
    await launched.leave();
    await removeTree(place.root);
  };

  const start = async (options: LaunchOptions) => {
    const shape = toShape(options);
    const stale = waiting;
    if (isClosed || (stale?.shape === shape && stale.launched.isWaiting())) return;
    waiting = undefined;
    if (stale !== undefined) await discard(stale);
    const place = newPlace();
    makePlace(place);
    const started = { shape, place, launched: await launch({ ...options, place }, true) };
    await started.launched.there.catch(async (error: unknown) => {
      await discard(started);
      throw error;
    });
    waiting = started;
  };
  // Expected: no room, or no process can be started. The next sandbox then has a shell of its own, or says why it cannot.
  const inTurn = (step: () => Promise<void>) => void (work = work.then(step).catch(() => undefined));

  return {
    take: async (options) => {
      timer ??= setTimeout(() => {
        timer = undefined;
        inTurn(() => start(options));
      }, AFTER_MS).unref();
      const found = waiting;
      if (found?.shape !== toShape(options) || !found.launched.isWaiting()) return undefined;
      waiting = undefined;
      try {
        await rename(found.place.root, options.place.root);
        return found.launched;
      } catch {
        // Expected: something has its name, and stays.
        inTurn(() => discard(found));
        return undefined;
      }
    },
    close: async () => {
      isClosed = true;
      clearTimeout(timer);
      await work;
      if (waiting !== undefined) await discard(waiting);
    },
  };
}
