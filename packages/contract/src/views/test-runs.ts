/** Which of an agent's commands run tests, and how they ended. */
import { isFailedRow } from "./compare.ts";
import type { CommandRow, FeedRow } from "./feed-row.ts";

const TEST = /\b(test|tests|pytest|vitest|jest|mocha|rspec|phpunit|check|ctest|tox|verify)\b/;

export const isTestCommand = (command: string): boolean => TEST.test(command);

export const isTestRun = (row: FeedRow): row is CommandRow => row.kind === "command" && isTestCommand(row.command);

export const isTestFailed = (row: CommandRow): boolean => isFailedRow(row) || (row.call.exitCode ?? 0) !== 0;
