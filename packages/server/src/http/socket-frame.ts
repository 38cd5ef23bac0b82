/** Encodes text frames of the WebSocket protocol ourselves, so that one buffer serves every socket at the head. */
import { perTurn } from "../app/per-turn.ts";
import type { TailEvent } from "../app/tail-event.ts";

const FINAL_TEXT = 0x81;

/** RFC 6455, section 5.2: one unmasked, uncompressed text frame. */
function encodeText(text: string): Buffer {
  const size = Buffer.byteLength(text);
  const headSize = size < 126 ? 2 : size < 65_536 ? 4 : 10;
  const frame = Buffer.allocUnsafe(headSize + size);
  frame[0] = FINAL_TEXT;
  if (headSize === 2) frame[1] = size;
  else if (headSize === 4) {
    frame[1] = 126;
    frame.writeUInt16BE(size, 2);
  } else {
    frame[1] = 127;
    frame.writeBigUInt64BE(BigInt(size), 2);
  }
  frame.write(text, headSize, "utf8");
  return frame;
}

/** The same list of events is encoded once. */
export const encodeEvents = perTurn((events: readonly TailEvent[]) =>
  Buffer.concat(events.map((event) => encodeText(event.json))),
);
