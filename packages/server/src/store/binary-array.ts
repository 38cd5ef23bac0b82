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

export const toUuids = (values: readonly (string | null)[]): Uint8Array =>
  toFixed(OID.uuid, 16, values, (buffer, value, at) => buffer.write(value.replaceAll("-", ""), at, "hex"));

/** `lengths` are those of the values in UTF-8, where the caller knows them. */
function toTextual(
  oid: number,
  prefix: number | undefined,
  values: readonly (string | null)[],
  lengths: readonly number[],
): Uint8Array {
  const extra = prefix === undefined ? 0 : 1;
  const bytes = lengths.reduce((sum, length) => sum + length, HEADER_BYTES + values.length * (4 + extra));
  const buffer = Buffer.allocUnsafe(bytes);
  writeHeader(buffer, oid, values.length);
  let at = HEADER_BYTES;
  values.forEach((value, index) => {
    if (value === null) {
      at = buffer.writeInt32BE(NULL, at);
      return;
    }
    at = buffer.writeInt32BE((lengths[index] ?? 0) + extra, at);
    if (prefix !== undefined) at = buffer.writeUInt8(prefix, at);
    at += buffer.write(value, at, "utf8");
  });
  return values.length === 0 ? buffer.subarray(0, EMPTY_BYTES) : buffer.subarray(0, at);
}

export const toTexts = (values: readonly (string | null)[]): Uint8Array =>
  toTextual(
    OID.text,
    undefined,
    values,
    values.map((value) => (value === null ? 0 : Buffer.byteLength(value))),
  );

/** Texts that are JSON, as they are. */
export const toJsonbs = (texts: readonly string[], lengths: readonly number[]): Uint8Array =>
  toTextual(OID.jsonb, JSONB_VERSION, texts, lengths);
