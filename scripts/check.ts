/** Everything that can be checked without running the product: types, lint, format, unused code, generated files. */
import { runSilent } from "./steps.ts";

const STEPS = [
  { name: "types: contract, core", command: ["tsc", "-p", "tsconfig.pure.json"] },
  { name: "types: node", command: ["tsc", "-p", "tsconfig.node.json"] },
  { name: "types: web", command: ["tsc", "-p", "tsconfig.web.json"] },
  { name: "lint", command: ["oxlint"] },
  { name: "format", command: ["oxfmt", "--check"] },
  { name: "unused", command: ["knip", "--no-progress"] },
  { name: "lock", command: ["node", "scripts/complete-lock.ts", "--check"] },
  { name: "generated", command: ["node", "scripts/gen.ts", "--check"] },
] as const;

const AT_ONCE = 2;

const seconds = (since: number) => `${((performance.now() - since) / 1_000).toFixed(1)} s`;

const failed: string[] = [];
const waiting = [...STEPS];

async function work(): Promise<void> {
  for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) {
    const since = performance.now();
    const { code, output } = await runSilent(step.command);
    console.log(`${code === 0 ? "ok    " : "FAILED"}  ${step.name} (${seconds(since)})`);
    if (code !== 0) {
      failed.push(step.name);
      console.log(output.trimEnd());
    }
  }
}

const since = performance.now();
await Promise.all(Array.from({ length: AT_ONCE }, work));
console.log(
  failed.length === 0 ? `check passed in ${seconds(since)}` : `check failed in ${seconds(since)}: ${failed.join("; ")}`,
);
process.exitCode = failed.length === 0 ? 0 : 1;
