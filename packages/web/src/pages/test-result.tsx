/** How an agent's tests ended the last time they ran, and the way to the command that ran them. */
import { isTestFailed, readTestCounts, type CommandRow } from "@drover/contract/views";
import { Link } from "@tanstack/react-router";
import { formatCount } from "../data/format.ts";
import { cx } from "../ui/class-names.ts";

interface TestResultProps {
  readonly sandboxId: string;
  readonly row: CommandRow;
}

export function TestResult({ sandboxId, row }: TestResultProps) {
  const isOver = row.call.endedAt !== null;
  const isBad = isOver && isTestFailed(row);
  return (
    <Link
      to="/sandboxes/$sandboxId"
      params={{ sandboxId }}
      search={{ e: row.seq }}
      title={row.command}
      className={cx(
        "rounded font-semibold underline-offset-2 hover:underline",
        isBad ? "text-fail-ink" : isOver ? "text-live-ink" : "text-ink-2",
      )}
    >
      {isOver ? toWords(row, isBad) : "running"}
    </Link>
  );
}

function toWords({ call }: CommandRow, isBad: boolean): string {
  const counts = readTestCounts(call.output ?? "");
  // A run that fails although no test did, or passes although one did, has its own reasons: its exit says it.
  if (counts === undefined || counts.failed > 0 !== isBad) return isBad ? "failed" : "passed";
  const total = formatCount(counts.passed + counts.failed);
  return isBad ? `${formatCount(counts.passed)} of ${total} passed` : `${total} passed`;
}
