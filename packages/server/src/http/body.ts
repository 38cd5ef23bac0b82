/** Reads a request's JSON body: bounded, UTF-8, and free of what the store could not keep. */
import { isUtf8 } from "node:buffer";
import type { Readable } from "node:stream";
import { AppError, findJsonComplaint } from "@drover/contract";

export const BODY_LIMIT_BYTES = 8 * 1024 * 1024;
/** What is over the limit is still read for a while, so that the caller gets its answer instead of a broken pipe. */
const DRAIN_LIMIT_BYTES = 4 * BODY_LIMIT_BYTES;

export async function readBytes(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > DRAIN_LIMIT_BYTES) break;
      if (size <= BODY_LIMIT_BYTES) chunks.push(chunk);
      else chunks.length = 0;
    }
  } catch (cause) {
    // Expected: the caller hung up; it is no failure of ours, and nobody reads the answer.
    throw new AppError("request.malformed", "the body broke off", { cause });
  }
  if (size > BODY_LIMIT_BYTES) throw new AppError("request.too_large", `a body has at most ${BODY_LIMIT_BYTES} bytes`);
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
}

export function parseJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw new AppError("request.not_json", "the body is not valid UTF-8");
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch (cause) {
    // Expected: the caller sent something else than JSON.
    throw new AppError("request.not_json", "the body is not valid JSON", { cause });
  }
}

/** `undefined` for an empty body. */
export async function readJson(stream: Readable): Promise<unknown> {
  const bytes = await readBytes(stream);
  if (bytes.length === 0) return undefined;
  const value = parseJson(bytes);
  const complaint = findJsonComplaint(value);
  if (complaint !== undefined)
    throw new AppError("request.invalid", `the body ${complaint}`, { fields: [{ path: "", message: complaint }] });
  return value;
}
