/** Lines of JSON out of a stream of bytes: of any length up to a limit, with any bytes in them. */

/** A longer line is passed over: nobody reads a text of that size, and it must not take the worker's memory along. */
const LINE_LIMIT_BYTES = 64 * 1024 * 1024;

const NEWLINE = 0x0a;

/** Yields each line that is not empty. Bytes that are not UTF-8 become the replacement character; `undefined` stands for a
 *  line that was too long. */
export async function* readLines(
  source: AsyncIterable<Uint8Array>,
  limitBytes = LINE_LIMIT_BYTES,
): AsyncGenerator<string | undefined> {
  const decoder = new TextDecoder("utf-8");
  let parts: Uint8Array[] = [];
  let size = 0;
  const take = (): string | undefined => {
    const line = size > limitBytes ? undefined : decoder.decode(Buffer.concat(parts));
    parts = [];
    size = 0;
    return line;
  };
  for await (const chunk of source) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      size += end - start;
      if (size <= limitBytes) parts.push(chunk.subarray(start, end));
      start = end + 1;
      const line = take();
      if (line === undefined || line.trim() !== "") yield line;
    }
    size += chunk.length - start;
    if (size <= limitBytes) parts.push(chunk.subarray(start));
    else parts = [];
  }
  if (size > 0) yield take();
}
