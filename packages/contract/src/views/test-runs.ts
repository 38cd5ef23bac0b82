/** Which of an agent's commands run tests, how they ended, and how many of them. */
import { isFailedRow } from "./compare.ts";
import type { CommandRow, FeedRow } from "./feed-row.ts";

const TEST = /\b(test|tests|pytest|vitest|jest|mocha|rspec|phpunit|check|ctest|tox|verify)\b/;

export const isTestCommand = (command: string): boolean => TEST.test(command);

export const isTestRun = (row: FeedRow): row is CommandRow => row.kind === "command" && isTestCommand(row.command);

export const isTestFailed = (row: CommandRow): boolean => isFailedRow(row) || (row.call.exitCode ?? 0) !== 0;

export interface TestCounts {
  readonly passed: number;
  readonly failed: number;
}

/** Summaries stand at the end, and an output may be endless. */
const LOOKED_AT_CHARACTERS = 16_000;
// oxlint-disable-next-line no-control-regex -- colours of a terminal
const COLOURS = /\u001b\[[0-9;]*m/g;

/** Lines that sum up all tests in one: of vitest and jest, pytest, cargo. */
const SUMMARY = /^\s*Tests:? {2}|^Tests: | in \d+(?:\.\d+)?s\b|^test result: /;
/** One of them for each part of what was tested. */
const PARTIAL = /^test result: /;
const PASSED = /\b(\d{1,7}) passed\b/;
const FAILED = /\b(\d{1,7}) (?:failed|errors?)\b/;

/** Runners that say it in two lines: mocha, and node's own. */
const PASSED_LINE = /^\s*(\d{1,7}) passing\b|^(?:#|ℹ) pass (\d{1,7})$/;
const FAILED_LINE = /^\s*(\d{1,7}) failing\b|^(?:#|ℹ) fail (\d{1,7})$/;

const readCount = (pattern: RegExp, line: string | undefined): number | undefined => {
  const [, one, other] = pattern.exec(line ?? "") ?? [];
  const told = one ?? other;
  return told === undefined ? undefined : Number(told);
};

/** How many tests passed and failed, in the words of their runner; undefined where it is not known or said nothing. */
export function readTestCounts(output: string): TestCounts | undefined {
  const lines = output.slice(-LOOKED_AT_CHARACTERS).replaceAll(COLOURS, "").split(/\r?\n/);
  const summaries = lines.filter((line) => SUMMARY.test(line) && (PASSED.test(line) || FAILED.test(line)));
  const last = summaries.at(-1);
  if (last !== undefined) {
    const counted = PARTIAL.test(last) ? summaries.filter((line) => PARTIAL.test(line)) : [last];
    const sum = (pattern: RegExp) => counted.reduce((all, line) => all + (readCount(pattern, line) ?? 0), 0);
    return { passed: sum(PASSED), failed: sum(FAILED) };
  }
  const passed = readCount(
    PASSED_LINE,
    lines.findLast((line) => PASSED_LINE.test(line)),
  );
  const failed = readCount(
    FAILED_LINE,
    lines.findLast((line) => FAILED_LINE.test(line)),
  );
  return passed === undefined && failed === undefined ? undefined : { passed: passed ?? 0, failed: failed ?? 0 };
}
