/** Which of several branches is merged next: the one with the fewest conflicts; what cannot even be tried comes last. */

export interface MergeScore {
  readonly id: string;
  /** Files that conflict; `null` when the trial itself failed. */
  readonly conflicts: number | null;
}

/** Equal ones keep the order they are given in. */
export const toMergeOrder = (scores: readonly MergeScore[]): readonly MergeScore[] =>
  scores
    .map((score, index) => ({ score, index }))
    .toSorted(
      (a, b) =>
        Number(a.score.conflicts === null) - Number(b.score.conflicts === null) ||
        (a.score.conflicts ?? 0) - (b.score.conflicts ?? 0) ||
        a.index - b.index,
    )
    .map(({ score }) => score);

export const pickMerge = (scores: readonly MergeScore[]): MergeScore | undefined => toMergeOrder(scores)[0];
