/** A patch as a table: line numbers of both sides, and signs, so that colour is never alone. */
import type { DiffLine } from "@drover/contract/views";
import { MessageSquarePlus } from "lucide-react";
import { memo } from "react";
import { cx } from "../ui/class-names.ts";
import { CodeText, usePatchColours, type PatchColours } from "./code.tsx";

const SIGNS = { added: "+", removed: "−", context: "", hunk: "", file: "", note: "" } as const;
const WORDS: Partial<Record<DiffLine["kind"], string>> = { added: "added", removed: "removed" };
const LOOKS: Readonly<Record<DiffLine["kind"], string>> = {
  added: "bg-add",
  removed: "bg-cut",
  context: "",
  hunk: "bg-sunken text-ink-3",
  file: "text-ink-3",
  note: "text-ink-3 italic",
};

export const DiffRow = memo(function DiffRow({
  line,
  colours,
  className,
  onComment,
}: {
  readonly line: DiffLine;
  readonly colours: PatchColours;
  readonly className?: string;
  readonly onComment?: ((line: DiffLine) => void) | undefined;
}) {
  return (
    <div
      role="row"
      className={cx(
        "group/line relative grid grid-cols-[2.6rem_2.6rem_1.2rem_1fr] max-md:grid-cols-[2.2rem_1rem_1fr]",
        LOOKS[line.kind],
        className,
      )}
    >
      <span role="cell" className="pr-2 text-right text-ink-3 select-none max-md:hidden">
        {line.oldLine ?? ""}
      </span>
      <span role="cell" className="pr-2 text-right text-ink-3 select-none">
        {line.newLine ?? (line.kind === "removed" ? <span className="md:hidden">{line.oldLine}</span> : "")}
      </span>
      <span role="cell" className={cx("select-none", line.kind === "added" ? "text-live-ink" : "text-fail-ink")}>
        <span aria-hidden>{SIGNS[line.kind]}</span>
        <span className="sr-only">{WORDS[line.kind]}</span>
      </span>
      <span role="cell" className="min-w-0 pr-3 wrap-anywhere whitespace-pre-wrap">
        <CodeText
          text={line.text}
          language={line.kind === "hunk" || line.kind === "note" ? undefined : colours.language}
          state={colours.states.get(line)}
        />
        {onComment !== undefined && line.kind !== "hunk" && line.kind !== "note" && (
          <CommentButton line={line} onComment={onComment} />
        )}
      </span>
    </div>
  );
});

interface CommentButtonProps {
  readonly line: DiffLine;
  readonly onComment: (line: DiffLine) => void;
}

/** Over the number of the line that the pointer is at. */
export const CommentButton = ({ line, onComment }: CommentButtonProps) => (
  <button
    type="button"
    tabIndex={-1}
    aria-label={`Comment on line ${line.newLine ?? line.oldLine ?? ""}`}
    title="Comment on this line"
    onClick={() => onComment(line)}
    className="absolute top-0 left-0 grid size-5 place-items-center rounded bg-solid text-on-solid opacity-0 group-hover/line:opacity-100 focus-visible:opacity-100"
  >
    <MessageSquarePlus size={12} aria-hidden />
  </button>
);

interface DiffTableProps {
  readonly path: string;
  readonly lines: readonly DiffLine[];
  readonly label: string;
}

export function DiffTable({ path, lines, label }: DiffTableProps) {
  const colours = usePatchColours(path, lines);
  return (
    <div role="table" aria-label={label} className="font-mono text-xs leading-[20px]">
      {lines.map((line, at) => (
        <DiffRow key={at} line={line} colours={colours} />
      ))}
    </div>
  );
}
