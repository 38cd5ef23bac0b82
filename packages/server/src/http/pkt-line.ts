/** Git's packet lines: the commands at the start of a push, and the report that answers one. */
import type { Readable } from "node:stream";
import type { PushCommand } from "@drover/core";
import { AppError } from "@drover/contract";

const HEAD_LIMIT_BYTES = 256 * 1024;
const FLUSH = Buffer.from("0000");
const NOTHING = /^0+$/;
const COMMAND = /^([0-9a-f]{40}) ([0-9a-f]{40}) ([^\0\n]+)(?:\0([^\n]*))?\n?$/;
/** A sideband packet holds 65,520 bytes with its length and its band. */
const BAND_BYTES = 65_515;

export const toPacket = (content: string | Uint8Array): Buffer => {
  const bytes = Buffer.from(content);
  return Buffer.concat([Buffer.from((bytes.length + 4).toString(16).padStart(4, "0")), bytes]);
};

export interface PushHead {
  readonly commands: readonly PushCommand[];
  readonly capabilities: ReadonlySet<string>;
  /** What was read, to be handed on. */
  readonly bytes: Buffer;
}

const toCommit = (id: string) => (NOTHING.test(id) ? null : id);

interface Parsed {
  readonly commands: PushCommand[];
  readonly capabilities: Set<string>;
}

/** Undefined while the flush packet that ends the commands has not come. */
function parseHead(bytes: Buffer): Parsed | undefined {
  const found: Parsed = { commands: [], capabilities: new Set() };
  for (let at = 0; at + 4 <= bytes.length;) {
    const length = Number.parseInt(bytes.toString("latin1", at, at + 4), 16);
    if (length === 0) return found;
    if (!(length >= 4)) throw new AppError("request.malformed", "this is not a push");
    if (at + length > bytes.length) return undefined;
    const line = bytes.toString("utf8", at + 4, at + length);
    const [, from = "", to = "", ref = "", capabilities] = COMMAND.exec(line) ?? [];
    if (ref !== "") found.commands.push({ ref, from: toCommit(from), to: toCommit(to) });
    else if (!line.startsWith("shallow ")) throw new AppError("request.malformed", "this is not a push");
    for (const one of capabilities?.split(" ") ?? []) if (one !== "") found.capabilities.add(one);
    at += length;
  }
  return undefined;
}

/** Reads only the commands; the pack that follows stays in the stream. */
export async function readPushHead(stream: Readable): Promise<PushHead> {
  const chunks: Buffer[] = [];
  let size = 0;
  const iterator = stream.iterator({ destroyOnReturn: false }) as AsyncIterableIterator<Buffer>;
  for await (const chunk of iterator) {
    chunks.push(chunk);
    size += chunk.length;
    const bytes = Buffer.concat(chunks);
    const parsed = parseHead(bytes);
    if (parsed !== undefined) return { ...parsed, bytes };
    if (size > HEAD_LIMIT_BYTES) throw new AppError("request.too_large", "a push names fewer refs at once");
  }
  throw new AppError("request.malformed", "the push ends before its commands do");
}

function toBand(band: 1 | 2, content: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < content.length; at += BAND_BYTES)
    parts.push(toPacket(Buffer.concat([Buffer.from([band]), content.subarray(at, at + BAND_BYTES)])));
  return Buffer.concat(parts);
}

/** What the client prints as `remote:` lines, and why each ref stays as it was. */
export function toRefusalReport(head: PushHead, reasons: ReadonlyMap<string, string>, message: string): Buffer {
  const lines = [
    toPacket("unpack ok\n"),
    ...head.commands.map(({ ref }) => toPacket(`ng ${ref} ${reasons.get(ref) ?? "refused with the others"}\n`)),
    FLUSH,
  ];
  const report = head.capabilities.has("report-status") || head.capabilities.has("report-status-v2");
  const status = report ? Buffer.concat(lines) : Buffer.alloc(0);
  if (!head.capabilities.has("side-band-64k")) return status;
  return Buffer.concat([toBand(2, Buffer.from(`${message}\n`)), toBand(1, status), FLUSH]);
}
