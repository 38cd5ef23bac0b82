/** Several lists of the same things, each with the best first, become one. */

/** How little the first place of a list outweighs the next ones; the value of Cormack, Clarke and Buettcher (2009). */
const EVENNESS = 60;

export interface Fused<Id extends string> {
  readonly id: Id;
  readonly score: number;
  /** Its place in each list, from 1; null where it is not in it. */
  readonly ranks: readonly (number | null)[];
}

/** By reciprocal rank: places count, and not scores, which are no measure of each other. Ties go by id. */
export function fuseRanks<Id extends string>(lists: readonly (readonly Id[])[]): readonly Fused<Id>[] {
  const places = lists.map((list) => new Map(list.map((id, index) => [id, index + 1])));
  return [...new Set(lists.flat())]
    .map((id) => {
      const ranks = places.map((place) => place.get(id) ?? null);
      return {
        id,
        ranks,
        score: ranks.reduce<number>((sum, rank) => sum + (rank === null ? 0 : 1 / (EVENNESS + rank)), 0),
      };
    })
    .toSorted((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1));
}
