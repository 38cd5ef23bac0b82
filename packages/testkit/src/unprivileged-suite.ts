/** Runs test files as whoever starts this, without the services of the other tests, and prints what became of each test. */
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { startVitest } from "vitest/node";

const ROOT = resolve(import.meta.dirname, "../../..");

// Nothing is written into the repository: it may belong to somebody else.
const viteOptions = { cacheDir: join(tmpdir(), "vite"), configFile: false };

const vitest = await startVitest(
  "test",
  process.argv.slice(2),
  {
    config: false,
    root: ROOT,
    watch: false,
    pool: "forks",
    maxWorkers: 1,
    reporters: [{}],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    retry: process.env.CI === undefined ? 0 : 1,
    env: { NODE_ENV: "test" },
  },
  viteOptions,
);
for (const module of vitest.state.getTestModules()) {
  for (const error of module.errors()) console.log(JSON.stringify({ title: module.moduleId, error: error.message }));
  for (const test of module.children.allTests()) {
    const { state, errors } = test.result();
    console.log(JSON.stringify({ title: test.fullName, state, error: errors?.[0]?.stack }));
  }
}
await vitest.close();
// Failed tests are told, not exited with.
process.exitCode = 0;
