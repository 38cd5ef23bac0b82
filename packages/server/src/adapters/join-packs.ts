/** Several packs of Git as one: the objects of each, one after the other, below one header and above one sum. */
import { createHash } from "node:crypto";

const HEADER_BYTES = 12;
const SUM_BYTES = 20;
/** "PACK", and the only layout that is written today. */
const SIGNATURE = Buffer.from("PACK\0\0\0\u0002", "latin1");

const isPack = (pack: Buffer): boolean =>
  pack.length >= HEADER_BYTES + SUM_BYTES && pack.subarray(0, SIGNATURE.length).equals(SIGNATURE);

/** Differences name their base by id or by how far it lies back in the same pack; both stay true. What the packs claim of themselves is
 *  checked by who reads the result; `undefined` when one of them is no pack at all. */
export function joinPacks(packs: readonly Buffer[]): readonly Buffer[] | undefined {
  if (!packs.every(isPack)) return undefined;
  const header = Buffer.alloc(HEADER_BYTES);
  SIGNATURE.copy(header);
  // Modulo 2^32: who claims more objects than there are is found out by the reader.
  header.writeUInt32BE(
    packs.reduce((sum, pack) => (sum + pack.readUInt32BE(8)) >>> 0, 0),
    8,
  );
  const parts = [header, ...packs.map((pack) => pack.subarray(HEADER_BYTES, -SUM_BYTES))];
  const hash = createHash("sha1");
  for (const part of parts) hash.update(part);
  return [...parts, hash.digest()];
}
