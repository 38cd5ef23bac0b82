/** A conversation's events as they come, over any number of connections: none twice, none left out. */
import { OpenHandsEvent, SessionFrame } from "@drover/contract/openhands";
import type { Clock } from "../../clock.ts";

export interface EventSocketParts {
  /** `http://host:port`, without a slash at its end. */
  readonly url: string;
  readonly key: string | undefined;
  readonly conversationId: string;
  readonly clock: Clock;
  /** The last number that was handled; -1 before any. */
  readonly afterSeq: number;
  /** Awaited one by one. `seq` is missing for what is not kept in the log. */
  readonly onEvent: (event: OpenHandsEvent, seq: number | undefined) => Promise<void>;
}

export interface EventSocket {
  /** Settles when the server could not be reached for long, or says that there is no such conversation. */
  readonly lost: Promise<string>;
  close(): void;
}

const RETRY_MS = { first: 250, longest: 5_000 };
/** Tries in a row without a single frame before the server counts as gone. */
const TRIES = 20;
const NOT_FOUND = 4004;
const UNAUTHORISED = 4001;

type Ending = { readonly isOpened: boolean; readonly hadFrames: boolean; readonly code: number };

/** Newer servers number their events, so that a connection goes on where the last one broke; older ones send all again. */
const toAddress = ({ url, conversationId }: EventSocketParts, isNumbered: boolean, afterSeq: number) =>
  isNumbered
    ? `${url.replace(/^http/, "ws")}/sockets/session/${conversationId}?after_seq=${afterSeq}`
    : `${url.replace(/^http/, "ws")}/sockets/events/${conversationId}?resend_mode=all`;

export function openEventSocket(parts: EventSocketParts): EventSocket {
  const closing = new AbortController();
  const { promise: lost, resolve: lose } = Promise.withResolvers<string>();
  const known = new Set<string>();
  let afterSeq = parts.afterSeq;
  let isNumbered = true;
  /** What arrived is handled in order, whatever connection brought it. */
  let handled: Promise<void> = Promise.resolve();

  const handle = async (event: OpenHandsEvent, seq: number | undefined) => {
    const isKept = seq !== undefined || !isNumbered;
    if (seq !== undefined && seq <= afterSeq) return;
    if (isKept && known.has(event.id)) return;
    if (isKept) known.add(event.id);
    await parts.onEvent(event, seq);
    if (seq !== undefined) afterSeq = seq;
  };
  const read = (data: unknown) => {
    let value: unknown;
    try {
      value = JSON.parse(String(data));
    } catch {
      return; // Expected: never from their server; a proxy may speak.
    }
    if (!isNumbered) {
      const event = OpenHandsEvent.safeParse(value);
      if (event.success) handled = handled.then(() => handle(event.data, undefined));
      return;
    }
    const { event, seq } = SessionFrame.safeParse(value).data ?? {};
    if (event !== undefined) handled = handled.then(() => handle(event, seq));
  };

  const connect = () =>
    new Promise<Ending>((resolve) => {
      const state = { isOpened: false, hadFrames: false };
      const socket = new WebSocket(toAddress(parts, isNumbered, afterSeq));
      const stop = () => socket.close();
      const finish = (code: number) => {
        closing.signal.removeEventListener("abort", stop);
        resolve({ ...state, code });
      };
      closing.signal.addEventListener("abort", stop, { once: true });
      socket.addEventListener("open", () => {
        state.isOpened = true;
        if (parts.key !== undefined) socket.send(JSON.stringify({ type: "auth", session_api_key: parts.key }));
      });
      socket.addEventListener("message", ({ data }) => {
        state.hadFrames = true;
        read(data);
      });
      socket.addEventListener("close", ({ code }) => finish(code));
      socket.addEventListener("error", () => undefined); // a close follows
    });

  const run = async () => {
    for (let tries = 0; !closing.signal.aborted;) {
      const { isOpened, hadFrames, code } = await connect();
      await handled;
      if (closing.signal.aborted) return;
      if (code === NOT_FOUND) return lose("there is no such conversation");
      if (code === UNAUTHORISED) return lose("the agent server refuses the key");
      // An older server refuses the handshake; a newer one that is away does too, so both are tried in turn.
      if (!isOpened && known.size === 0 && afterSeq === parts.afterSeq) isNumbered = !isNumbered;
      tries = hadFrames ? 0 : tries + 1;
      if (tries >= TRIES) return lose("the agent server cannot be reached");
      const waitMs = Math.min(RETRY_MS.first * 2 ** Math.max(0, tries - 1), RETRY_MS.longest);
      await parts.clock.sleep(tries === 0 ? 0 : waitMs, closing.signal);
    }
  };
  void run();

  return { lost, close: () => closing.abort() };
}
