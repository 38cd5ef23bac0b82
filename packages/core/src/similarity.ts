/** How alike two texts are, by the pairs of letters they share: 0 nothing, 1 the same words. */

function toPairs(text: string): readonly string[] {
  const words =
    text
      .toLowerCase()
      .normalize("NFKD")
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.flatMap((word) =>
    word.length === 1 ? [word] : Array.from({ length: word.length - 1 }, (_, i) => word.slice(i, i + 2)),
  );
}

/** The Sorensen-Dice coefficient over pairs of letters, each counted as often as it stands there. */
export function toSimilarity(one: string, other: string): number {
  const [a, b] = [toPairs(one), toPairs(other)];
  if (a.length + b.length === 0) return one === other ? 1 : 0;
  const left = new Map<string, number>();
  for (const pair of a) left.set(pair, (left.get(pair) ?? 0) + 1);
  let shared = 0;
  for (const pair of b) {
    const count = left.get(pair) ?? 0;
    if (count === 0) continue;
    shared += 1;
    left.set(pair, count - 1);
  }
  return (2 * shared) / (a.length + b.length);
}
