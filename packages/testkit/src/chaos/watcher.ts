/** Subscribers of the live stream that outlive every server: through the client library, and over a bare socket. */
import { API_BASE, type EventFilter, type EventFrame, type ServerFrame } from "@drover/contract";
import { createClient } from "@drover/client";
import WebSocket from "ws";
import type { Chance } from "../chance.ts";
import { ADMIN_TOKEN } from "./server-under-fire.ts";

export interface Watcher {
  readonly name: string;
  /** Everything received, in the order of its arrival. */
  readonly frames: readonly EventFrame[];
  readonly complaints: readonly string[];
  readonly reconnects: () => number;
  /** Whether it has heard on its present connection that the replayed part is over. */
  readonly isLive: () => boolean;
  close(): void;
}

export function watchByClient(
  name: string,
  url: string,
  filter: EventFilter,
  afterSeq: number,
  onFrames: (frames: readonly EventFrame[]) => void = () => {},
): Watcher {
  const frames: EventFrame[] = [];
  const client = createClient({ baseUrl: url, token: ADMIN_TOKEN });
  const stream = client.openStream({
    filter,
    afterSeq,
    onBatch: (batch) => {
      frames.push(...batch);
      onFrames(batch);
    },
  });
  return {
    name,
    frames,
    // The client drops what it has; a server that keeps its word gives it nothing to drop.
    get complaints() {
      const { duplicatesDropped, malformed } = stream.stats;
      return [
        ...(duplicatesDropped > 0 ? [`${name} was sent ${duplicatesDropped} events again`] : []),
        ...(malformed > 0 ? [`${name} was sent ${malformed} frames that are not as the contract says`] : []),
      ];
    },
    reconnects: () => stream.stats.reconnects,
    isLive: () => stream.state.phase === "live",
    close: () => stream.close(),
  };
}

const RETRY_MS = 100;

/** Keeps nothing but the last seq between connections. With `chance` it also cuts the line itself, in the middle of anything. */
export function watchBySocket(name: string, url: string, afterSeq: number, chance?: Chance): Watcher {
  const frames: EventFrame[] = [];
  const complaints: string[] = [];
  let last = afterSeq;
  let reconnects = -1;
  let isSynced = false;
  let isClosed = false;
  let socket: WebSocket;
  let retry: NodeJS.Timeout | undefined;

  const open = () => {
    reconnects += 1;
    isSynced = false;
    let untilCut = chance?.int(1, 400) ?? Infinity;
    const mine = new WebSocket(`${url.replace("http", "ws")}${API_BASE}/ws/events?after_seq=${last}`, {
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
      perMessageDeflate: false,
    });
    socket = mine;
    mine.on("error", () => undefined);
    mine.on("close", () => {
      if (!isClosed) retry = setTimeout(open, RETRY_MS);
    });
    mine.on("message", (data: Buffer) => {
      // A line that was cut may still hold frames: they were lost with it.
      if (mine !== socket || untilCut <= 0) return;
      const frame = JSON.parse(data.toString("utf8")) as ServerFrame;
      if (!("type" in frame)) return;
      if (frame.type === "sync") {
        if (isSynced) complaints.push(`${name} heard sync twice on one connection`);
        isSynced = true;
      }
      if (frame.type !== "event") return;
      const event = frame as EventFrame;
      if (event.seq <= last) complaints.push(`${name} was sent ${event.seq} after ${last}`);
      last = event.seq;
      frames.push(event);
      untilCut -= 1;
      if (untilCut <= 0) mine.terminate();
    });
  };
  open();
  return {
    name,
    frames,
    complaints,
    reconnects: () => reconnects,
    isLive: () => isSynced && socket.readyState === WebSocket.OPEN,
    close: () => {
      isClosed = true;
      clearTimeout(retry);
      socket.terminate();
    },
  };
}
