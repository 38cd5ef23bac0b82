/** What a webhook never took: one line each, in two files of bounded size, of which the older one is given up. */
import { appendFileSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";

const FILE = "dead-letters.jsonl";
const OLDER = "dead-letters.old.jsonl";

export interface DeadLetter {
  readonly id: string;
  readonly webhook_url: string;
  readonly reason: string;
  readonly at: string;
  readonly body: string;
}

/** On disk when it returns. */
export function keepDeadLetter(directory: string, letter: DeadLetter, limitBytes: number): void {
  const path = join(directory, FILE);
  const line = `${JSON.stringify(letter)}\n`;
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size > 0 && size + Buffer.byteLength(line) > limitBytes) renameSync(path, join(directory, OLDER));
  appendFileSync(path, line, { mode: 0o600, flush: true });
}
