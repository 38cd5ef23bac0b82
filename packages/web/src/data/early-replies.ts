/** Replies to what `public/start.js` asked before this code was there. Each is given out once, while it is young, and only if it was granted:
 *  a refusal, or a reply to who was here before another login, is asked for again. */
const YOUNG_MS = 10_000;

declare global {
  interface Window {
    droverEarly?: { readonly replies: Record<string, Promise<Response>>; readonly at: number };
  }
}

export function forgetEarlyReplies(): void {
  delete window.droverEarly;
}

export const fetchOnceEarly: typeof fetch = async (address, init) => {
  const { replies, at } = window.droverEarly ?? { replies: {}, at: 0 };
  const reply = typeof address === "string" && init?.method === "GET" ? replies[address] : undefined;
  if (reply === undefined) return fetch(address, init);
  delete replies[address as string];
  // It was asked without this call's signal and may fail by itself: then this call asks on its own account.
  const early = performance.now() - at < YOUNG_MS ? await reply.catch(() => undefined) : undefined;
  return early?.ok === true ? early : fetch(address, init);
};
