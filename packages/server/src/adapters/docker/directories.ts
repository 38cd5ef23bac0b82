/** An archive of empty directories, by which an image that was not made for sandboxes gets the two they need. */

const BLOCK = 512;
const TYPE_DIRECTORY = "5";

interface Directory {
  readonly path: string;
  readonly mode: number;
  /** Of its owner and its group. */
  readonly uid: number;
}

const octal = (value: number, length: number) => `${value.toString(8).padStart(length - 1, "0")}\0`;

/** One header of a ustar archive. */
function toHeader({ path, mode, uid }: Directory): Buffer {
  const header = Buffer.alloc(BLOCK);
  const put = (text: string, at: number) => header.write(text, at, "latin1");
  put(`${path.slice(1)}/`, 0);
  put(octal(mode, 8), 100);
  put(octal(uid, 8), 108);
  put(octal(uid, 8), 116);
  put(octal(0, 12), 124);
  put(octal(0, 12), 136);
  put(" ".repeat(8), 148);
  put(TYPE_DIRECTORY, 156);
  put("ustar\x0000", 257);
  put(
    octal(
      header.reduce((sum, byte) => sum + byte, 0),
      7,
    ),
    148,
  );
  return header;
}

/** Parents that are not named get root's. */
export const packDirectories = (directories: readonly Directory[]): Buffer =>
  Buffer.concat([...directories.map(toHeader), Buffer.alloc(2 * BLOCK)]);
