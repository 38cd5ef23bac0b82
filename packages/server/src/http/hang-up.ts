/** Whoever asks may have hung up before anybody listened for it, while its credential was looked up: then "close" never comes. */
import type { Writable } from "node:stream";

/** Calls back when the connection is over or the answer is through, also where that was before. */
export function onClosed(out: Writable, work: () => void): void {
  if (out.destroyed) work();
  else out.once("close", work);
}

/** One for all: an error of its own would have a stack. */
const HUNG_UP = new DOMException("the caller hung up", "AbortError");

/** Aborts when the caller hangs up or one of the others does, at which nothing stays. */
export function signalOf(out: Writable, others: readonly AbortSignal[]): AbortSignal {
  const ending = new AbortController();
  const end = () => ending.abort(others.find(({ aborted }) => aborted)?.reason ?? HUNG_UP);
  if (others.some(({ aborted }) => aborted)) end();
  for (const other of others) other.addEventListener("abort", end, { once: true });
  onClosed(out, () => {
    for (const other of others) other.removeEventListener("abort", end);
    end();
  });
  return ending.signal;
}
