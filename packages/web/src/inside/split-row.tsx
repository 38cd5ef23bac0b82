/** One line of a patch with both sides beside each other. */
import type { DiffLine, DiffPair } from "@drover/contract/views";
import { memo } from "react";
import { CodeText, type PatchColours } from "../feed/code.tsx";
import { CommentButton } from "../feed/diff-table.tsx";
import { cx } from "../ui/class-names.ts";

const LOOKS: Partial<Record<DiffLine["kind"], string>> = { added: "bg-add", removed: "bg-cut" };
const SIGNS: Partial<Record<DiffLine["kind"], readonly [string, string]>> = {
  added: ["+", "added"],
  removed: ["−", "removed"],
};

interface SplitRowProps {
  readonly pair: DiffPair;
  readonly colours: PatchColours;
  readonly onComment: (line: DiffLine) => void;
}

export const SplitRow = memo(function SplitRow({ pair: { left, right }, colours, onComment }: SplitRowProps) {
  const line = left ?? right;
  if (line !== undefined && line.kind !== "context" && line.kind !== "added" && line.kind !== "removed")
    return (
      <div role="row" className="bg-sunken px-3 text-ink-3">
        <span role="cell">{line.text}</span>
      </div>
    );
  return (
    <div role="row" className="grid grid-cols-2">
      {/* A line that did not change stands on both sides and is commented on once. */}
      <Half
        line={left}
        number={left?.oldLine ?? null}
        colours={colours}
        onComment={left?.kind === "removed" ? onComment : undefined}
      />
      <Half line={right} number={right?.newLine ?? null} colours={colours} isRight onComment={onComment} />
    </div>
  );
});

interface HalfProps {
  readonly line: DiffLine | undefined;
  readonly number: number | null;
  readonly colours: PatchColours;
  readonly isRight?: boolean;
  readonly onComment: ((line: DiffLine) => void) | undefined;
}

function Half({ line, number, colours, isRight = false, onComment }: HalfProps) {
  const [sign, word] = SIGNS[line?.kind ?? "context"] ?? ["", ""];
  return (
    <span
      role="cell"
      className={cx(
        "group/line relative grid min-w-0 grid-cols-[2.6rem_1.2rem_1fr]",
        isRight && "border-l border-line",
        line === undefined ? "bg-sunken" : LOOKS[line.kind],
      )}
    >
      <span className="pr-2 text-right text-ink-3 select-none">{number}</span>
      <span className={cx("select-none", line?.kind === "added" ? "text-live-ink" : "text-fail-ink")}>
        <span aria-hidden>{sign}</span>
        <span className="sr-only">{word}</span>
      </span>
      <span className="min-w-0 pr-3 wrap-anywhere whitespace-pre-wrap">
        {line !== undefined && (
          <CodeText text={line.text} language={colours.language} state={colours.states.get(line)} />
        )}
      </span>
      {line !== undefined && onComment !== undefined && <CommentButton line={line} onComment={onComment} />}
    </span>
  );
}
