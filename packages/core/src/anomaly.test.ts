import { expect, test } from "vitest";
import { diagnoseAnomaly, scoreAnomalies, type AnomalyReading, type AnomalyState } from "./anomaly.ts";

const calm = (id: string, more: Partial<AnomalyReading> = {}): AnomalyReading => ({
  id,
  latency: 2,
  results: 10,
  errors: 0,
  tokens: 1_000,
  held: 0,
  before: null,
  ...more,
});
const PEERS = [calm("a"), calm("b", { latency: 3 }), calm("c", { latency: 4 }), calm("d", { latency: 3 })];
const scoreOf = (reading: AnomalyReading, peers: readonly AnomalyReading[] = PEERS) =>
  scoreAnomalies([reading, ...peers]).find(({ id }) => id === reading.id);

test.for([
  // Peers: mean 3 s, deviation 0.707. Full at three deviations, at five times the tokens, at ten waiting tasks.
  ["all is as with the others", calm("x", { latency: 3 }), [0, 0, 0, 0], 0],
  ["calls take long", calm("x", { latency: 30 }), [1, 0, 0, 0], 0.35],
  ["calls take a little longer", calm("x", { latency: 3 + 0.707_106_781 }), [1 / 3, 0, 0, 0], 0.35 / 3],
  ["every call fails", calm("x", { latency: 3, errors: 10 }), [0, 1, 0, 0], 0.3],
  ["three times the tokens", calm("x", { latency: 3, tokens: 3_000 }), [0, 0, 0.5, 0], 0.1],
  ["four tasks wait for it", calm("x", { latency: 3, held: 4 }), [0, 0, 0, 0.4], 0.06],
  ["everything at once", calm("x", { latency: 30, errors: 10, tokens: 9_000, held: 20 }), [1, 1, 1, 1], 1],
] as const)("the score when %s", ([, reading, [latency, errors, resources, queue], score]) => {
  const found = scoreOf(reading);
  expect(found?.parts.latency).toBeCloseTo(latency, 5);
  expect(found?.parts).toMatchObject({ errors, resources, queue });
  expect(found?.score).toBeCloseTo(score, 5);
});

test("errors are averaged with what was before, and no call changes nothing", () => {
  const before: AnomalyState = { errorRate: 0.5, tokens: 1_000, streak: 0 };
  expect(scoreOf(calm("x", { errors: 10, before }))?.state.errorRate).toBeCloseTo(0.55, 9);
  expect(scoreOf(calm("x", { results: 0, before }))?.state.errorRate).toBe(0.5);
});

test("three readings in a row are one anomaly, told once, and a calm one begins anew", () => {
  let before: AnomalyState | null = null;
  const told: boolean[] = [];
  for (let reading = 0; reading < 5; reading++) {
    const bad = calm("x", { latency: 30, errors: 10, tokens: (reading + 1) * 9_000, held: 20, before });
    const found = scoreOf(
      bad,
      PEERS.map((peer) => ({ ...peer, before: { errorRate: 0, tokens: 0, streak: 0 } })),
    );
    told.push(found?.isNew === true);
    before = found?.state ?? null;
  }
  expect(told).toEqual([false, false, true, false, false]);
  expect(scoreOf(calm("x", { latency: 3, before }))?.state.streak).toBe(0);
});

test("with nobody to compare with only errors and waiting tasks count", () => {
  expect(scoreOf(calm("x", { latency: 900, tokens: 9_000_000 }), [])?.score).toBe(0);
});

test("what a score speaks of: the heaviest part is the cause, each part weighs as it does in the score", () => {
  const { root_cause, hypotheses, recommendations } = diagnoseAnomaly(0.85, {
    latency: 1,
    errors: 1,
    resources: 1,
    queue: 0,
  });
  expect(root_cause).toBe("its calls take far longer than those of the others");
  expect(hypotheses.map(({ likelihood }) => likelihood)).toEqual([0.41, 0.35, 0.24]);
  expect(recommendations.every((one) => !one.creates_followup_task)).toBe(true);
});
