/** How well a name answers what was typed: each word must be found, and a beginning counts more than a middle. */
const BEGINS = 3;
const BEGINS_WORD = 2;
const WITHIN = 1;

function scoreWord(name: string, word: string): number {
  if (name.startsWith(word)) return BEGINS;
  if (name.split(/[\s/·#()-]+/).some((part) => part.startsWith(word))) return BEGINS_WORD;
  return name.includes(word) ? WITHIN : 0;
}

/** 0 when it does not answer. */
function score(name: string, typed: string): number {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const lower = name.toLowerCase();
  let total = 1;
  for (const word of words) {
    const found = scoreWord(lower, word);
    if (found === 0) return 0;
    total += found;
  }
  return total;
}

/** Those that answer, best first; equals keep their order. */
export const rank = <T>(entries: readonly T[], toName: (entry: T) => string, typed: string): readonly T[] =>
  entries
    .map((entry) => ({ entry, points: score(toName(entry), typed) }))
    .filter(({ points }) => points > 0)
    .toSorted((one, other) => other.points - one.points)
    .map(({ entry }) => entry);
