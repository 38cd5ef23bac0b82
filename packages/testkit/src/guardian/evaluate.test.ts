/** How good the guardian's signals are, held in figures: on a corpus of one seed, and on one that nobody has seen before. */
import { randomInt } from "node:crypto";
import { evaluateGuardian, type GuardianScore } from "@drover/core";
import { expect, test } from "vitest";
import { generateCorpus } from "./corpus.ts";

const STORED_SEED = 20_261_117;
const PER_KIND = 12;
const PRECISION = 0.9;
const RECALL = 0.8;

const tellMisses = ({ signals }: GuardianScore): readonly string[] =>
  signals
    .filter(({ precision, recall }) => (precision ?? 1) < PRECISION || (recall ?? 1) < RECALL)
    .map(
      ({ signal, precision, recall, wanted, raised }) =>
        `${signal}: precision ${precision}, recall ${recall} (wanted ${wanted}, raised ${raised})`,
    );

test("each signal is precise and finds what it should on the corpus that is always the same, and no healthy run is paused or stopped", () => {
  const corpus = generateCorpus(STORED_SEED, PER_KIND);
  expect(corpus.length).toBeGreaterThanOrEqual(200);
  const score = evaluateGuardian(corpus);
  expect(tellMisses(score)).toEqual([]);
  for (const mode of Object.values(score.modes))
    expect(mode.filter(({ precision, recall }) => (precision ?? 1) < PRECISION || (recall ?? 1) < RECALL)).toEqual([]);
  for (const disturbed of Object.values(score.healthyDisturbed))
    expect([disturbed.pause ?? 0, disturbed.stop ?? 0]).toEqual([0, 0]);
});

const seed = randomInt(2 ** 31);
test(`precision and recall hold on runs that nobody has seen before (seed ${seed}), and no healthy run is stopped`, () => {
  const score = evaluateGuardian(generateCorpus(seed, PER_KIND));
  expect(score.overall.precision).toBeGreaterThanOrEqual(PRECISION);
  expect(score.overall.recall).toBeGreaterThanOrEqual(RECALL);
  for (const disturbed of Object.values(score.healthyDisturbed)) expect(disturbed.stop ?? 0).toBe(0);
});
