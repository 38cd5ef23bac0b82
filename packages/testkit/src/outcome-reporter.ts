/** Writes one line of JSON per test that ended, at once, so that a run which dies still tells what it knew; read by `.ci/count.mjs`. */
import { appendFileSync, writeFileSync } from "node:fs";
import type { SerializedError } from "vitest";
import type { Reporter, TestCase, TestModule } from "vitest/node";

export class OutcomeReporter implements Reporter {
  readonly #file: string;

  constructor({ file }: { readonly file: string }) {
    this.#file = file;
    writeFileSync(file, "");
  }

  onTestCaseResult(test: TestCase): void {
    const { state } = test.result();
    const name = `${test.module.relativeModuleId} > ${test.fullName}`;
    this.#write({ name, state, retries: test.diagnostic()?.retryCount ?? 0 });
  }

  /** Errors outside of tests: a file that cannot be loaded, a hook that failed. */
  onTestModuleEnd(module: TestModule): void {
    if (module.errors().length > 0) this.#write({ name: module.relativeModuleId, state: "failed", retries: 0 });
  }

  onTestRunEnd(_modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    for (const { message } of unhandled) this.#write({ name: `unhandled: ${message}`, state: "failed", retries: 0 });
  }

  #write(outcome: { name: string; state: string; retries: number }): void {
    appendFileSync(this.#file, `${JSON.stringify(outcome)}\n`);
  }
}
