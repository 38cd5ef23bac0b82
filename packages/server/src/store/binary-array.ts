/** Arrays in PostgreSQL's binary form: a column of many rows as one parameter, without quoting here or unquoting there. */

/** Types by their number in `pg_type`, which never changes. */
const OID = { jsonb: 3802, uuid: 2950, text: 25, bigint: 20, integer: 23, smallint: 21 } as const;
const HEADER_BYTES = 20;
const NULL = -1;
const JSONB_VERSION = 1;

/** Dimensions, whether there may be nulls, element type, length, lowest index. */
function writeHeader(buffer: Buffer, oid: number, length: number): void {
  buffer.writeInt32BE(length === 0 ? 0 : 1, 0);
  buffer.writeInt32BE(1, 4);
  buffer.writeInt32BE(oid, 8);
  buffer.writeInt32BE(length, 12);
  buffer.writeInt32BE(1, 16);
}

/** An array without elements has no dimension, and ends there. */
const EMPTY_BYTES = 12;

function toFixed<T>(
  oid: number,
  width: number,
  values: readonly (T | null)[],
  write: (buffer: Buffer, value: T, at: number) => void,
): Uint8Array {
  const buffer = Buffer.allocUnsafe(HEADER_BYTES + values.length * (4 + width));
  writeHeader(buffer, oid, values.length);
  let at = HEADER_BYTES;
  for (const value of values) {
    if (value === null) {
      at = buffer.writeInt32BE(NULL, at);
      continue;
    }
    at = buffer.writeInt32BE(width, at);
    write(buffer, value, at);
    at += width;
  }
  return values.length === 0 ? buffer.subarray(0, EMPTY_BYTES) : buffer.subarray(0, at);
}

export const toIntegers = (values: readonly (number | null)[]): Uint8Array =>
  toFixed(OID.integer, 4, values, (buffer, value, at) => buffer.writeInt32BE(value, at));

export const toSmallints = (values: readonly (number | null)[]): Uint8Array =>
  toFixed(OID.smallint, 2, values, (buffer, value, at) => buffer.writeInt16BE(value, at));

const HIGH = 2 ** 32;

/** Safe integers only, which is all that a number can be trusted with. */
export const toBigints = (values: readonly (number | null)[]): Uint8Array =>
  toFixed(OID.bigint, 8, values, (buffer, value, at) => {
    buffer.writeInt32BE(Math.floor(value / HIGH), at);
    buffer.writeUInt32BE(((value % HIGH) + HIGH) % HIGH, at + 4);
  });

const DASH = 45;

/** The value of a hexadecimal digit by its character. */
const NIBBLE = new Uint8Array(128);
for (let digit = 0; digit < 16; digit += 1) {
  NIBBLE[digit.toString(16).charCodeAt(0)] = digit;
  NIBBLE[digit.toString(16).toUpperCase().charCodeAt(0)] = digit;
}

/** Digit by digit, because a call for each of so short a text costs more. */
function writeUuid(buffer: Buffer, uuid: string, at: number): void {
  let high = -1;
  for (let index = 0, to = at; index < uuid.length && to < at + 16; index += 1) {
    const code = uuid.charCodeAt(index);
    if (code === DASH) continue;
    const nibble = NIBBLE[code] ?? 0;
    if (high < 0) high = nibble;
    else {
      buffer[to++] = (high << 4) | nibble;
      high = -1;
    }
  }
}

export const toUuids = (values: readonly (string | null)[]): Uint8Array => toFixed(OID.uuid, 16, values, writeUuid);

/** Up to so many characters are written here; beyond, a call to do it is worth its price. */
const SHORT_CHARACTERS = 48;
/** Of one character in UTF-8. */
const MOST_BYTES = 3;

/** Writes `text` and returns where it ends. */
function writeText(buffer: Buffer, text: string, at: number): number {
  if (text.length > SHORT_CHARACTERS) return at + buffer.write(text, at, "utf8");
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code > 127) return at + buffer.write(text, at, "utf8");
    buffer[at + index] = code;
  }
  return at + text.length;
}

/** With the bytes that each value takes, which are known when it is written and not before: to measure texts first would be to go
 *  through all of them twice. */
function toTextual(
  oid: number,
  prefix: number | undefined,
  values: readonly (string | null)[],
): { readonly array: Uint8Array; readonly sizes: readonly number[] } {
  if (values.length === 0) {
    const header = Buffer.allocUnsafe(HEADER_BYTES);
    writeHeader(header, oid, 0);
    return { array: header.subarray(0, EMPTY_BYTES), sizes: [] };
  }
  const extra = prefix === undefined ? 0 : 1;
  let characters = 0;
  for (const value of values) characters += value?.length ?? 0;
  // Enough where a character is a byte, which is the rule; else it grows.
  let buffer: Buffer = Buffer.allocUnsafe(
    HEADER_BYTES + values.length * (4 + extra) + characters + MOST_BYTES * LONGEST_GUESS,
  );
  writeHeader(buffer, oid, values.length);
  let at = HEADER_BYTES;
  const sizes: number[] = [];
  for (const value of values) {
    const room = 4 + extra + (value === null ? 0 : toRoom(value));
    if (at + room > buffer.length) buffer = grow(buffer, at, room);
    if (value === null) {
      at = buffer.writeInt32BE(NULL, at);
      sizes.push(0);
      continue;
    }
    const start = at + 4 + extra;
    const end = writeText(buffer, value, start);
    buffer.writeInt32BE(end - start + extra, at);
    if (prefix !== undefined) buffer[at + 4] = prefix;
    at = end;
    sizes.push(end - start);
  }
  return { array: buffer.subarray(0, at), sizes };
}

/** Up to so many characters the most that they could take is set aside; to do so for a large text would be to copy all before it. */
const LONGEST_GUESS = 1_000;

const toRoom = (text: string): number =>
  text.length <= LONGEST_GUESS ? MOST_BYTES * text.length : Buffer.byteLength(text);

function grow(buffer: Buffer, used: number, room: number): Buffer {
  const larger = Buffer.allocUnsafe(Math.max(2 * buffer.length, used + room));
  buffer.copy(larger, 0, 0, used);
  return larger;
}

export const toTexts = (values: readonly (string | null)[]): Uint8Array => toTextual(OID.text, undefined, values).array;

/** Texts that are JSON, as they are. */
export const toJsonbs = (texts: readonly string[]) => toTextual(OID.jsonb, JSONB_VERSION, texts);
