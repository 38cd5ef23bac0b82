/** Puts a `.br` and a `.gz` beside every file of a built page that gets smaller by it: the server hands them out as they are. */
import { globSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

/** Fonts and pictures are compressed already. */
const TEXTUAL = "**/*.{html,js,css,svg,json,wasm,txt,webmanifest}";
/** Below it a packet is a packet. */
const SMALLEST_BYTES = 1_024;
/** Brotli at its best takes a second per megabyte and some memory: not all files at once. */
const AT_ONCE = 2;

const toBrotli = (bytes: Buffer) =>
  promisify(brotliCompress)(bytes, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    },
  });
const toGzip = (bytes: Buffer) => promisify(gzip)(bytes, { level: constants.Z_BEST_COMPRESSION });

async function compressFile(file: string): Promise<void> {
  const bytes = await readFile(file);
  if (bytes.length < SMALLEST_BYTES) return;
  for (const [ending, compress] of [["br", toBrotli] as const, ["gz", toGzip] as const]) {
    const compressed = await compress(bytes);
    if (compressed.length < bytes.length) await writeFile(`${file}.${ending}`, compressed);
  }
}

export async function compressFiles(folder: string): Promise<void> {
  const waiting = globSync(TEXTUAL, { cwd: folder }).map((file) => join(folder, file));
  const work = async () => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) await compressFile(file);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}
