/** Delivery under random orders, kills at 500 seeded moments, and a server that is away for a minute. `CHAOS_SEED` repeats a
 *  run, `CHAOS_SCHEDULES` changes its length. */
import { randomInt } from "node:crypto";
import { runVisible } from "./steps.ts";

const seed = process.env.CHAOS_SEED ?? String(randomInt(2 ** 31));
const schedules = process.env.CHAOS_SCHEDULES ?? "500";
const env = {
  CHAOS_SEED: seed,
  CHAOS_SCHEDULES: schedules,
  CHAOS_OUTAGE_SECONDS: process.env.CHAOS_OUTAGE_SECONDS ?? "60",
  DELIVERY_SEED: seed,
  DELIVERY_RUNS: process.env.DELIVERY_RUNS ?? "300",
};

console.log(`chaos: ${schedules} schedules, seed ${seed}`);
const codes = [
  await runVisible(["vitest", "run", "--project", "fast", "packages/testkit/src/delivery"], env),
  await runVisible(["vitest", "run", "--project", "chaos"], env),
];
const code = Math.max(...codes);
console.log(`chaos: seed ${seed} ${code === 0 ? "passed" : `failed; repeat it with CHAOS_SEED=${seed} npm run chaos`}`);
process.exitCode = code;
