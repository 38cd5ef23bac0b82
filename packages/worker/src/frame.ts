/** How records lie in the journal: `u32 length, u32 checksum, JSON`. A record is whole or it is not there. */
import { crc32 } from "node:zlib";

export const MAGIC = Buffer.from("DROVER OUTBOX 1\n");
const HEADER_BYTES = 8;
const LENGTH_LIMIT = 64 * 1024 * 1024;

/** The length is part of what is summed: zeroed pages after a power loss must not read as an empty record. */
const sum = (length: Buffer, payload: Buffer) => crc32(payload, crc32(length));

export function toFrame(value: unknown): Buffer {
  const payload = Buffer.from(JSON.stringify(value), "utf8");
  const frame = Buffer.allocUnsafe(HEADER_BYTES + payload.length);
  frame.writeUInt32BE(payload.length, 0);
  frame.writeUInt32BE(sum(frame.subarray(0, 4), payload), 4);
  payload.copy(frame, HEADER_BYTES);
  return frame;
}

export interface Scan {
  readonly values: readonly unknown[];
  /** Where the last whole record ends; what lies behind it was never accepted. */
  readonly end: number;
}

export function scanFrames(bytes: Buffer, start: number): Scan {
  const values: unknown[] = [];
  let at = start;
  while (at + HEADER_BYTES <= bytes.length) {
    const length = bytes.readUInt32BE(at);
    const next = at + HEADER_BYTES + length;
    if (length === 0 || length > LENGTH_LIMIT || next > bytes.length) break;
    const payload = bytes.subarray(at + HEADER_BYTES, next);
    if (bytes.readUInt32BE(at + 4) !== sum(bytes.subarray(at, at + 4), payload)) break;
    values.push(JSON.parse(payload.toString("utf8")));
    at = next;
  }
  return { values, end: at };
}
