/** Who stands at the other end of a WebSocket. */
import type { IncomingMessage } from "node:http";
import type { RawData, WebSocket } from "ws";
import { AuthFrame } from "@drover/contract";
import type { Principal } from "../app/credential.ts";
import type { Deps } from "../app/deps.ts";
import { resolvePrincipal } from "./authorise.ts";
import { parseSessionCookie } from "./session-cookie.ts";

const AUTH_LIMIT_MS = 5_000;
/** Frames that a client may send before it is known who it is. */
const WAITING_FRAMES = 16;

export function refuse(socket: WebSocket, code: number, error: string): void {
  socket.send(JSON.stringify({ error }));
  socket.close(code, error.slice(0, 100));
}

export function parseFrame<T>(data: RawData, read: (value: unknown) => T): T | undefined {
  try {
    return read(JSON.parse((data as Buffer).toString("utf8")));
  } catch {
    // Expected: the client sent something else than JSON.
    return undefined;
  }
}

type FrameListener = (data: RawData, isBinary: boolean) => void;

export interface Inbox {
  /** Undefined: frames wait again. */
  listen(listener: FrameListener | undefined): void;
}

/** Frames wait until somebody listens, so that a client may speak the moment it is connected. */
export function openInbox(socket: WebSocket): Inbox {
  const waiting: Parameters<FrameListener>[] = [];
  let listener: FrameListener | undefined;
  const drain = () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      if (listener === undefined) return void waiting.unshift(next);
      listener(...next);
    }
  };
  socket.on("message", (data, isBinary) => {
    waiting.push([data, isBinary]);
    drain();
    if (waiting.length > WAITING_FRAMES) socket.terminate();
  });
  return {
    listen: (next) => {
      listener = next;
      drain();
    },
  };
}

/** Resolves with the first frame, which must be a credential, or undefined when none comes in time. */
function waitForAuthFrame(socket: WebSocket, inbox: Inbox): Promise<string | undefined> {
  return new Promise((resolve) => {
    const finish = (token: string | undefined) => {
      clearTimeout(timer);
      inbox.listen(undefined);
      socket.off("close", onClose);
      resolve(token);
    };
    const onClose = () => finish(undefined);
    const timer = setTimeout(() => finish(undefined), AUTH_LIMIT_MS);
    socket.once("close", onClose);
    inbox.listen((data) => finish(parseFrame(data, (value) => AuthFrame.safeParse(value).data?.token)));
  });
}

export interface Identity {
  readonly principal: Principal | undefined;
  /** Of a browser that came with a cookie. */
  readonly session: string | undefined;
}

/** The first one present of bearer, ticket and cookie decides; with none of them the first frame does. */
export async function identifySocket(
  deps: Deps,
  request: IncomingMessage,
  ticket: string | undefined,
  { socket, inbox }: { readonly socket: WebSocket; readonly inbox: Inbox },
): Promise<Identity> {
  const { authorization, cookie } = request.headers;
  const known = (principal: Principal | undefined): Identity => ({ principal, session: undefined });
  if (authorization !== undefined) return known(await resolvePrincipal(deps, { authorization }));
  if (ticket !== undefined) return known(await deps.credentials.takeTicket(ticket));
  const session = parseSessionCookie(cookie);
  if (session !== undefined) return { principal: await resolvePrincipal(deps, { cookie }), session };
  const token = await waitForAuthFrame(socket, inbox);
  return known(token === undefined ? undefined : await deps.credentials.resolveBearer(token));
}
