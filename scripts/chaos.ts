/** Kills processes at 500 seeded moments. `CHAOS_SEED` repeats a run, `CHAOS_SCHEDULES` changes its length. */
import { randomInt } from "node:crypto";
import { runVisible } from "./steps.ts";

const seed = process.env.CHAOS_SEED ?? String(randomInt(2 ** 31));
const schedules = process.env.CHAOS_SCHEDULES ?? "500";

console.log(`chaos: ${schedules} schedules, seed ${seed}`);
const code = await runVisible(["vitest", "run", "--project", "chaos"], {
  CHAOS_SEED: seed,
  CHAOS_SCHEDULES: schedules,
});
console.log(`chaos: seed ${seed} ${code === 0 ? "passed" : `failed; repeat it with CHAOS_SEED=${seed} npm run chaos`}`);
process.exitCode = code;
