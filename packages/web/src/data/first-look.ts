/** The run that the address named when the page was loaded: what it is about and its newest events, read while the page is being made, so that
 *  it is drawn once and with its rows. Only events are kept, for the first who asks; a store of them is never begun here. */
import { toLogEvent, type LogEvent } from "@drover/client";
import { client } from "./client.ts";
import { queryClient, sandboxQuery } from "./queries.ts";

/** As many as the store would read first; `public/start.js` has asked for them. */
export const EVENTS_AT_FIRST = 80;
/** A page without rows is better than none. */
const LONGEST_WAIT_MS = 150;

export const openedRun = /^\/sandboxes\/(?!new$)([^/]+)$/.exec(location.pathname)?.[1];

let tail: readonly LogEvent[] | undefined;
let isTooLate = false;

async function readTail(sandboxId: string): Promise<void> {
  const query = { order: "desc", limit: EVENTS_AT_FIRST } as const;
  const page = await client.listSandboxEvents({ params: { sandbox_id: sandboxId }, query }, { retries: 0 });
  if (!isTooLate) tail = page.events.flatMap((event) => toLogEvent(event) ?? []).toReversed();
}

const readSandbox = async (sandboxId: string): Promise<void> =>
  void queryClient.setQueryData(
    sandboxQuery(sandboxId).queryKey,
    await client.getSandbox({ params: { sandbox_id: sandboxId } }, { retries: 0 }),
  );

// Refused to who has no login: the page itself asks again and says so.
const reading = openedRun === undefined ? undefined : Promise.allSettled([readTail(openedRun), readSandbox(openedRun)]);

export const awaitFirstLook = (sandboxId: string): Promise<unknown> | undefined =>
  sandboxId === openedRun && !isTooLate
    ? Promise.race([reading, new Promise((resolve) => setTimeout(resolve, LONGEST_WAIT_MS))])
    : undefined;

/** Whoever was let in then has gone. */
export function forgetFirstLook(): void {
  tail = undefined;
  isTooLate = true;
}

/** Given once, to the page that the address named; whoever comes later reads anew. */
export function takeFirstTail(sandboxId: string): readonly LogEvent[] | undefined {
  const taken = sandboxId === openedRun ? tail : undefined;
  forgetFirstLook();
  return taken;
}
