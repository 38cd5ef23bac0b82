/** A POST that comes again under its Idempotency-Key is answered as it was the first time. */
import type { Endpoint } from "@drover/contract";
import { createOnceDone, type RequestKey } from "../app/create-once.ts";
import type { Deps } from "../app/deps.ts";

export interface FirstReplies {
  /** Does the work, unless a reply is kept under this key. What fails keeps none: the key may be used again. */
  answer<T>(endpoint: Endpoint, requestKey: RequestKey | undefined, work: () => Promise<T>): Promise<T>;
}

export function openFirstReplies(deps: Deps): FirstReplies {
  const underWay = new Map<string, Promise<unknown>>();
  return {
    answer: async (endpoint, requestKey, work) => {
      // What creates something keeps its reply in the transaction that creates it.
      if (requestKey === undefined || endpoint.creates === true) return work();
      const name = `${requestKey.scope}\n${requestKey.key}`;
      // Who comes while the first is at work waits, and then finds its reply.
      const before = underWay.get(name);
      const done = (async () => {
        await before?.catch(() => undefined);
        return createOnceDone(deps, requestKey, work);
      })();
      underWay.set(name, done);
      try {
        return await done;
      } finally {
        if (underWay.get(name) === done) underWay.delete(name);
      }
    },
  };
}
