/** Delivery under random orders, kills at 500 seeded moments, a server that is away for a minute,
 *  and two replicas that are killed in turn while a thousand tasks wait. `CHAOS_SEED` repeats a
 *  run, `CHAOS_SCHEDULES` changes its length. */
import { randomInt } from "node:crypto";
import { runVisible } from "./steps.ts";

const seed = process.env.CHAOS_SEED ?? String(randomInt(2 ** 31));
const schedules = process.env.CHAOS_SCHEDULES ?? "500";
const env = {
  CHAOS_SEED: seed,
  CHAOS_SCHEDULES: schedules,
  CHAOS_TASKS: process.env.CHAOS_TASKS ?? "1000",
  CHAOS_KILLS: process.env.CHAOS_KILLS ?? "6",
  CHAOS_OUTAGE_SECONDS: process.env.CHAOS_OUTAGE_SECONDS ?? "60",
  DELIVERY_SEED: seed,
  DELIVERY_RUNS: process.env.DELIVERY_RUNS ?? "300",
};

console.log(`chaos: ${schedules} schedules, seed ${seed}`);
const codes = [
  await runVisible(["vitest", "run", "--project", "fast", "packages/testkit/src/delivery"], env),
  await runVisible(["vitest", "run", "--project", "chaos", "--project", "outage"], env),
];
const code = Math.max(...codes);
console.log(`chaos: seed ${seed} ${code === 0 ? "passed" : `failed; repeat it with CHAOS_SEED=${seed} npm run chaos`}`);
process.exitCode = code;
