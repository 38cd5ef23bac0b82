/** One line of a patch with both sides beside each other. */
import type { DiffLine, DiffPair } from "@drover/contract/views";
import { memo } from "react";
import { cx } from "../ui/class-names.ts";

const LOOKS: Partial<Record<DiffLine["kind"], string>> = { added: "bg-add", removed: "bg-cut" };
const SIGNS: Partial<Record<DiffLine["kind"], readonly [string, string]>> = {
  added: ["+", "added"],
  removed: ["−", "removed"],
};

export const SplitRow = memo(function SplitRow({ pair: { left, right } }: { readonly pair: DiffPair }) {
  const line = left ?? right;
  if (line !== undefined && line.kind !== "context" && line.kind !== "added" && line.kind !== "removed")
    return (
      <div role="row" className="bg-sunken px-3 text-ink-3">
        <span role="cell">{line.text}</span>
      </div>
    );
  return (
    <div role="row" className="grid grid-cols-2">
      <Half line={left} number={left?.oldLine ?? null} />
      <Half line={right} number={right?.newLine ?? null} isRight />
    </div>
  );
});

interface HalfProps {
  readonly line: DiffLine | undefined;
  readonly number: number | null;
  readonly isRight?: boolean;
}

function Half({ line, number, isRight = false }: HalfProps) {
  const [sign, word] = SIGNS[line?.kind ?? "context"] ?? ["", ""];
  return (
    <span
      role="cell"
      className={cx(
        "grid min-w-0 grid-cols-[2.6rem_1.2rem_1fr]",
        isRight && "border-l border-line",
        line === undefined ? "bg-sunken" : LOOKS[line.kind],
      )}
    >
      <span className="pr-2 text-right text-ink-3 select-none">{number}</span>
      <span className={cx("select-none", line?.kind === "added" ? "text-live-ink" : "text-fail-ink")}>
        <span aria-hidden>{sign}</span>
        <span className="sr-only">{word}</span>
      </span>
      <span className="pr-3 break-all whitespace-pre-wrap">{line?.text}</span>
    </span>
  );
}
