/** Reads one frame of the live stream. Unknown kinds are passed over: the server may be one version ahead. */
import { ErrorFrame, EventFrame, PingFrame, PongFrame, SyncFrame } from "@drover/contract";

export type ReadFrame =
  | { readonly kind: "event"; readonly event: EventFrame }
  | { readonly kind: "sync"; readonly throughSeq: number }
  | { readonly kind: "ping" }
  | { readonly kind: "pong"; readonly head: number }
  | { readonly kind: "error"; readonly detail: string }
  | { readonly kind: "malformed" }
  | { readonly kind: "unknown" };

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // Not JSON: counted by the caller as malformed.
  }
};

export function readFrame(text: string): ReadFrame {
  const value = parseJson(text);
  if (typeof value !== "object" || value === null) return { kind: "malformed" };
  const type = "type" in value ? value.type : undefined;
  if (type === "event") {
    const { data } = EventFrame.safeParse(value);
    return data === undefined ? { kind: "malformed" } : { kind: "event", event: data };
  }
  const sync = SyncFrame.safeParse(value).data;
  if (sync !== undefined) return { kind: "sync", throughSeq: sync.through_seq };
  const pong = PongFrame.safeParse(value).data;
  if (pong !== undefined) return { kind: "pong", head: pong.head };
  if (PingFrame.safeParse(value).success) return { kind: "ping" };
  const error = ErrorFrame.safeParse(value).data;
  return error === undefined ? { kind: "unknown" } : { kind: "error", detail: error.error };
}
