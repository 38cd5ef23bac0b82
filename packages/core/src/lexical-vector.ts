/** A text as a vector, so that texts which share words, or pieces of words, lie close. Knows letters, not meanings: no model is asked. */

export const VECTOR_LENGTH = 512;

/** More than a page adds nothing to what a text is about. */
export const VECTOR_CHARACTERS = 8_000;
/** A whole word says more than three of its letters. */
const WORD = 2;
const PIECE = 1;
const TITLE = 3;

/** They stand in every text. */
const EMPTY_WORDS: ReadonlySet<string> = new Set(
  "a an and are as at be but by for from has have if in into is it its not of on or so that the their then there this to was when which will with".split(
    " ",
  ),
);

/** FNV-1a: the same everywhere, because vectors are kept. */
function toHash(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}

/** Letters lose their accents. */
function countFeatures(counts: Map<string, number>, text: string, weight: number): void {
  const words =
    text
      .slice(0, VECTOR_CHARACTERS)
      .toLowerCase()
      .normalize("NFKD")
      .replaceAll(/\p{M}/gu, "")
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  const add = (feature: string, by: number) => counts.set(feature, (counts.get(feature) ?? 0) + by * weight);
  for (const word of words) {
    if (EMPTY_WORDS.has(word)) continue;
    add(word, WORD);
    const padded = ` ${word} `;
    for (let at = 0; at + 3 <= padded.length; at += 1) add(padded.slice(at, at + 3), PIECE);
  }
}

/** The title counts as if it stood there three times. Scaled to whole numbers from -127 to 127: only the direction matters. */
export function toLexicalVector(title: string, text: string): Int8Array {
  const counts = new Map<string, number>();
  countFeatures(counts, title, TITLE);
  countFeatures(counts, text, 1);
  const exact = new Float64Array(VECTOR_LENGTH);
  for (const [feature, count] of counts) {
    const hash = toHash(feature);
    const at = hash % VECTOR_LENGTH;
    // Half of the features count downwards, so that those which fall on the same place cancel out as often as they add up.
    exact[at] = (exact[at] ?? 0) + (hash >>> 31 === 0 ? 1 : -1) * Math.log1p(count);
  }
  const longest = exact.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  return Int8Array.from(exact, (value) => (longest === 0 ? 0 : Math.round((127 * value) / longest)));
}

/** The cosine of the angle between two: 1 the same direction, 0 nothing in common. */
export function toLikeness(one: Int8Array, other: Int8Array): number {
  let [dot, a, b] = [0, 0, 0];
  for (let at = 0; at < VECTOR_LENGTH; at += 1) {
    const x = one[at] ?? 0;
    const y = other[at] ?? 0;
    dot += x * y;
    a += x * x;
    b += y * y;
  }
  return a === 0 || b === 0 ? 0 : dot / Math.sqrt(a * b);
}
