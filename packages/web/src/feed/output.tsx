/** What a command or tool printed: its end first, the rest on demand, and how much is not shown. */
import { useMemo } from "react";
import { formatCount } from "../data/format.ts";
import { CopyButton } from "../ui/copy.tsx";
import { cx } from "../ui/class-names.ts";
import { AnsiLine, toOutputLines, toPlainLine } from "./ansi.tsx";

const OPEN_LINES = 400;

interface OutputProps {
  readonly text: string;
  readonly label: string;
  readonly isOpen: boolean;
  readonly previewLines: number;
  readonly isError?: boolean;
}

export function Output({ text, label, isOpen, previewLines, isError = false }: OutputProps) {
  const lines = useMemo(() => toOutputLines(text), [text]);
  const shown = isOpen ? lines.slice(-OPEN_LINES) : lines.slice(-previewLines);
  const hidden = lines.length - shown.length;
  if (lines.length === 0) return null;
  return (
    <div
      className={cx("mt-1.5 overflow-hidden rounded-lg border bg-sunken", isError ? "border-fail/35" : "border-line")}
    >
      {(hidden > 0 || isOpen) && (
        <p className="flex items-center justify-between gap-2 border-b border-line px-3 py-1 text-2xs text-ink-3">
          {hidden > 0
            ? `showing the last ${formatCount(shown.length)} of ${formatCount(lines.length)} lines`
            : `${formatCount(lines.length)} lines`}
          {isOpen && <CopyButton text={lines.map(toPlainLine).join("\n")} label="Copy all" />}
        </p>
      )}
      <pre
        tabIndex={0}
        role="group"
        aria-label={label}
        className="max-h-[28rem] overflow-auto px-3 py-2 font-mono text-xs leading-[20px] break-words whitespace-pre-wrap"
      >
        {shown.map((line, at) => (
          <span key={at} className="block min-h-[1.35rem]">
            <AnsiLine line={line} />
          </span>
        ))}
      </pre>
    </div>
  );
}
