/** Numbered events of one sandbox, and what a stream tells of them. */
import type { EventFrame, ServerFrame } from "@drover/contract";
import { isEvent, type LiveStream } from "./live-stream.ts";
import type { TestSandbox } from "./server.ts";

export const numbers = (frames: readonly EventFrame[]) => frames.map((frame) => frame.payload["n"]);
export const isType = (type: string) => (frame: ServerFrame) => "type" in frame && frame.type === type;
export const isPosted = (frame: ServerFrame): frame is EventFrame => isEvent(frame) && frame.payload["n"] !== undefined;
export const post = (sandbox: TestSandbox, from: number, count: number, more: object = {}) =>
  sandbox.post({
    events: Array.from({ length: count }, (_, index) => ({
      event_type: "agent.message",
      event_data: { n: from + index, ...more },
    })),
  });
/** Everything asked of the socket before this was done when the pong comes. */
export const settle = async (stream: LiveStream) => {
  stream.send({ type: "ping" });
  await stream.next(isType("pong"));
};
