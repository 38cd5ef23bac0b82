/** A vendor's answer on its way to an agent: metered as it passes, without what the agent has not asked for, without keys. */
import { isUtf8 } from "node:buffer";
import { StringDecoder } from "node:string_decoder";
import {
  createUsageFilter,
  createUsageMeter,
  isRequestBody,
  type Metered,
  type ModelRequest,
  type ModelRoute,
  type RequestBody,
} from "@drover/core";
import { AppError } from "@drover/contract";
import type { VendorAnswer } from "../ports/model-vendor.ts";

/** Schemas of tools are nested deeply; what is deeper than this is made to break whoever reads it. */
const DEPTH_LIMIT = 500;

const isTooDeep = (value: unknown, left: number): boolean =>
  typeof value === "object" &&
  value !== null &&
  (left === 0 || Object.values(value).some((item) => isTooDeep(item, left - 1)));

export function parseModelBody(bytes: Buffer): RequestBody {
  if (!isUtf8(bytes)) throw new AppError("request.not_json", "the body is not valid UTF-8");
  let body: unknown;
  try {
    body = JSON.parse(bytes.toString("utf8"));
  } catch (cause) {
    // Expected: the caller sent something else than JSON.
    throw new AppError("request.not_json", "the body is not valid JSON", { cause });
  }
  if (!isRequestBody(body)) throw new AppError("request.invalid", "the body is not a JSON object");
  if (isTooDeep(body, DEPTH_LIMIT))
    throw new AppError("request.invalid", `the body is nested deeper than ${DEPTH_LIMIT} levels`);
  return body;
}

const ERROR_LIMIT_BYTES = 1024 * 1024;

/** A vendor's error is told as it is, except that a key it may quote is not. */
export async function* maskKey(body: AsyncIterable<Uint8Array>, key: string | undefined): AsyncGenerator<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > ERROR_LIMIT_BYTES) break;
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString("utf8");
  yield Buffer.from(key === undefined ? text : text.replaceAll(key, "***"));
}

/** Takes the usage out of a stream whose agent has not asked for it. */
export async function* hideUsage(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const decoder = new StringDecoder("utf8");
  const filter = createUsageFilter();
  for await (const chunk of chunks) {
    const text = filter.take(decoder.write(Buffer.from(chunk)));
    if (text !== "") yield Buffer.from(text);
  }
  const rest = filter.end();
  if (rest !== "") yield Buffer.from(rest);
}

/** Reads the usage as it passes. `settle` has run before the last word of the answer is handed on, or when it breaks off. */
export async function* meterAnswer(
  answer: VendorAnswer,
  route: ModelRoute,
  request: ModelRequest,
  requestCharacters: number,
  settle: (metered: Metered) => Promise<void>,
): AsyncGenerator<Uint8Array> {
  const meter = createUsageMeter(route.dialect, request.isStream);
  const decoder = new StringDecoder("utf8");
  let isSettled = false;
  const settleOnce = async () => {
    if (isSettled) return;
    isSettled = true;
    await settle(meter.read(requestCharacters));
  };
  try {
    for await (const chunk of answer.body) {
      meter.take(decoder.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)));
      if (request.isStream && meter.isComplete()) await settleOnce();
      yield chunk;
    }
  } finally {
    await settleOnce();
  }
}
