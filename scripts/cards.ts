/** `npm run cards [name ...]`: the suite of runtimes against the real agents, installed on first use; prints a score card for each. */
import { runVisible } from "./steps.ts";

process.exitCode = await runVisible(["vitest", "run", "--project", "cards", ...process.argv.slice(2)], {
  DROVER_CARDS: "1",
});
