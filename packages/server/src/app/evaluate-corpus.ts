/** Measures the guardian's signals on a corpus: one recorded run a line, as JSON. */
import { evaluateGuardian, type GuardianScore } from "@drover/core";
import { AppError, RecordedSession } from "@drover/contract";

export type { GuardianScore };

export function evaluateCorpus(text: string): GuardianScore {
  const sessions = text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line, index) => {
      try {
        return RecordedSession.parse(JSON.parse(line));
      } catch (cause) {
        // Expected: a file that is no corpus.
        throw new AppError("request.invalid", `line ${index + 1} is not a recorded run`, { cause });
      }
    });
  return evaluateGuardian(sessions);
}
