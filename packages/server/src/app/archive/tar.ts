/** Files in a row, as tar has them, in one form only: whatever differs from what we would have written is refused. */
import { createHash, type Hash } from "node:crypto";
import { AppError } from "@drover/contract";

const BLOCK = 512;
/** Eleven octal digits. */
const SIZE_LIMIT = 8 ** 11 - 1;
const MODE = "0000644\0";
const NAME_BYTES = 100;

export const refuse = (detail: string) => new AppError("archive.invalid", detail);

/** A plain file, of nobody, at no time. */
function toHeader(name: string, size: number): Buffer {
  if (Buffer.byteLength(name) >= NAME_BYTES || size > SIZE_LIMIT) throw refuse(`${name} does not fit into an archive`);
  const block = Buffer.alloc(BLOCK);
  block.write(name, 0);
  block.write(MODE, 100);
  block.write("0000000\0", 108);
  block.write("0000000\0", 116);
  block.write(`${size.toString(8).padStart(11, "0")}\0`, 124);
  block.write("00000000000\0", 136);
  block.write("        ", 148);
  block.write("0", 156);
  block.write("ustar\x0000", 257);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return block;
}

const toPadding = (size: number): Buffer => Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);

/** Two blocks of nothing. */
export const END: Buffer = Buffer.alloc(2 * BLOCK);

export async function* writeEntry(
  name: string,
  size: number,
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  yield toHeader(name, size);
  let written = 0;
  for await (const chunk of chunks) {
    written += chunk.byteLength;
    if (written > size) break;
    yield chunk;
  }
  if (written !== size) throw refuse(`${name} changed while it was written`);
  yield toPadding(size);
}

export interface Entry {
  readonly name: string;
  readonly size: number;
  /** To be read to its end before the next. */
  readonly chunks: AsyncIterable<Uint8Array>;
}

export interface TarReader {
  /** Undefined at the end, which is checked: nothing may follow. */
  next(): Promise<Entry | undefined>;
  /** SHA-256 of everything up to the header that was read last. */
  sealed(): string;
}

export function openTar(source: AsyncIterable<Uint8Array>): TarReader {
  const iterator = source[Symbol.asyncIterator]();
  let rest: Uint8Array = new Uint8Array(0);
  const hash: Hash = createHash("sha256");
  let sealed = "";
  let open: AsyncGenerator<Uint8Array> | undefined;

  /** Some bytes, at most `limit`; undefined at the end. */
  const some = async (limit: number): Promise<Uint8Array | undefined> => {
    while (rest.byteLength === 0) {
      const { done, value } = await iterator.next();
      if (done === true) return undefined;
      rest = value;
    }
    const taken = rest.subarray(0, limit);
    rest = rest.subarray(taken.byteLength);
    return taken;
  };
  const exactly = async (size: number): Promise<Buffer> => {
    const parts: Uint8Array[] = [];
    for (let left = size; left > 0;) {
      const part = await some(left);
      if (part === undefined) throw refuse("the archive breaks off");
      parts.push(part);
      left -= part.byteLength;
    }
    return Buffer.concat(parts);
  };

  async function* read(size: number): AsyncGenerator<Uint8Array> {
    for (let left = size; left > 0;) {
      const part = await some(left);
      if (part === undefined) throw refuse("the archive breaks off");
      hash.update(part);
      left -= part.byteLength;
      yield part;
    }
    const padding = await exactly(toPadding(size).byteLength);
    hash.update(padding);
    if (padding.some((byte) => byte !== 0)) throw refuse("something is hidden behind a file");
  }

  return {
    sealed: () => sealed,
    next: async () => {
      if (open !== undefined) for await (const _ of open);
      open = undefined;
      const block = await exactly(BLOCK);
      if (block.every((byte) => byte === 0)) {
        if ((await exactly(BLOCK)).some((byte) => byte !== 0) || (await some(1)) !== undefined)
          throw refuse("something follows the end");
        return undefined;
      }
      const name = block.toString("latin1", 0, block.indexOf(0));
      const size = Number.parseInt(block.toString("latin1", 124, 135), 8);
      if (!Number.isSafeInteger(size) || !/^[\w./-]{1,99}$/.test(name) || !toHeader(name, size).equals(block))
        throw refuse("a header is not as archives have it");
      sealed = hash.copy().digest("hex");
      hash.update(block);
      open = read(size);
      return { name, size, chunks: open };
    },
  };
}

/** Of a small entry. */
export async function readWhole({ name, size, chunks }: Entry, limit: number): Promise<Buffer> {
  if (size > limit) throw refuse(`${name} is too large`);
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return Buffer.concat(parts);
}
