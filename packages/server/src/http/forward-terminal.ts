/** A terminal at another replica: bytes, sizes and the closing are handed on as they are. */
import type { RawData, WebSocket as Socket } from "ws";
import { WebSocket } from "ws";
import { API_BASE, type SandboxId } from "@drover/contract";
import type { Deps } from "../app/deps.ts";
import type { Person } from "../app/credential.ts";
import { createTicket } from "../app/manage-tokens.ts";
import { findPeer, toUnreachable, type StandsElsewhere } from "../app/stand-elsewhere.ts";
import { FORWARDED } from "./forward-request.ts";
import type { Inbox } from "./socket-credential.ts";

const HANDSHAKE_LIMIT_MS = 5_000;
const BUFFER_LIMIT_BYTES = 1024 * 1024;

export interface TerminalCall {
  readonly socket: Socket;
  readonly inbox: Inbox;
  readonly person: Person;
  readonly sandboxId: SandboxId;
  readonly columns: number;
  readonly rows: number;
}

/** A close code that only a broken connection has cannot be sent. */
const toSendable = (code: number): number => (code === 1_000 || (code >= 3_000 && code < 5_000) ? code : 1_012);

/** Resolves when both ends are closed. */
export async function forwardTerminal(deps: Deps, elsewhere: StandsElsewhere, call: TerminalCall): Promise<void> {
  const address = await findPeer(deps, elsewhere);
  // The caller's own ticket or first frame is used up: the other replica gets a fresh one for the same person.
  const { ticket } = await createTicket(deps, call.person, undefined);
  const url = new URL(`${API_BASE}/sandboxes/${call.sandboxId}/pty`, address.replace(/^http/, "ws"));
  url.search = new URLSearchParams({
    ticket,
    columns: String(call.columns),
    rows: String(call.rows),
  }).toString();
  const peer = new WebSocket(url, {
    headers: { host: "localhost", [FORWARDED]: "1" },
    handshakeTimeout: HANDSHAKE_LIMIT_MS,
    perMessageDeflate: false,
  });
  const opened = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  peer.once("open", () => opened.resolve());
  peer.once("error", (cause) => opened.reject(toUnreachable(elsewhere.host, address, cause)));
  peer.once("close", (code, reason) => {
    if (call.socket.readyState === call.socket.OPEN) call.socket.close(toSendable(code), reason.toString("utf8"));
    closed.resolve();
  });
  call.socket.once("close", () => peer.close(1_000));
  // Whoever reads slowly holds up the shell at the other end, and not our memory.
  peer.on("message", (data: RawData, isBinary) => {
    call.socket.send(data as Buffer, { binary: isBinary }, () => {
      if (peer.isPaused && call.socket.bufferedAmount < BUFFER_LIMIT_BYTES) peer.resume();
    });
    if (call.socket.bufferedAmount >= BUFFER_LIMIT_BYTES) peer.pause();
  });
  await opened.promise;
  call.inbox.listen((data, isBinary) => {
    if (peer.readyState === peer.OPEN) peer.send(data as Buffer, { binary: isBinary });
  });
  await closed.promise;
}
