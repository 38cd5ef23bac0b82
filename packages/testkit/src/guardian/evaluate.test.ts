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
    .map(({ signal, precision, recall, wanted, raised }) => `${signal}: precision ${precision}, recall ${recall} (wanted ${wanted}, raised ${raised})`);

test.for([
  ["the corpus that is always the same", STORED_SEED],
  ["a corpus of a fresh seed", randomInt(2 ** 31)],
] as const)("precision and recall hold on %s (seed %d), and no healthy run is stopped", ([, seed]) => {
  const corpus = generateCorpus(seed, PER_KIND);
  expect(corpus.length).toBeGreaterThanOrEqual(200);
  const score = evaluateGuardian(corpus);
  expect.soft(tellMisses(score)).toEqual([]);
  expect.soft(score.overall.precision).toBeGreaterThanOrEqual(PRECISION);
  expect.soft(score.overall.recall).toBeGreaterThanOrEqual(RECALL);
  for (const disturbed of Object.values(score.healthyDisturbed)) {
    expect.soft(disturbed.stop ?? 0).toBe(0);
    expect.soft(disturbed.pause ?? 0).toBe(0);
  }
});
