/** A file as text, with the turn that wrote each line beside it. */
import { API_BASE } from "@drover/contract";
import { blameLines, type CodeState, type FeedView, type FileStep, type Language } from "@drover/contract/views";
import { useQuery } from "@tanstack/react-query";
import { ArrowDownToLine, ArrowUp } from "lucide-react";
import { useEffect, useMemo, useRef } from "react";
import { VList, type VListHandle } from "virtua";
import { formatBytes, formatClock, plural } from "../data/format.ts";
import { CodeText, useCode } from "../feed/code.tsx";
import { Button } from "../ui/button.tsx";
import { cx } from "../ui/class-names.ts";
import { CopyButton } from "../ui/copy.tsx";
import { Problem } from "../ui/problem.tsx";
import { fileAtQuery } from "../replay/queries.ts";
import { LineStory } from "./line-story.tsx";
import { fileQuery } from "./queries.ts";
import { useWholeSteps } from "./whole-steps.ts";

interface FileTextProps {
  readonly sandboxId: string;
  readonly rows: FeedView["rows"];
  readonly path: string;
  /** As the events name it; undefined for a file outside of the workspace. */
  readonly name: string | undefined;
  /** seq of the checkpoint that kept it; the file as it is now when absent. */
  readonly keptAt?: number | undefined;
  /** Counted from 1. */
  readonly line: number | undefined;
  readonly onLine: (line: number | undefined) => void;
  readonly onClose: () => void;
}

const nameOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

export function FileText({ sandboxId, rows, path, name, keptAt, line, onLine, onClose }: FileTextProps) {
  const now = useQuery({ ...fileQuery(sandboxId, path), enabled: keptAt === undefined });
  const kept = useQuery({ ...fileAtQuery(sandboxId, name ?? path, keptAt ?? 0), enabled: keptAt !== undefined });
  const read = keptAt === undefined ? now : kept;
  const text = read.data?.text ?? undefined;
  const isBinary = read.data?.text === null;
  const lines = useMemo(() => text?.replace(/\n$/, "").split("\n") ?? [], [text]);
  const { language, states } = useCode(path, lines);
  const steps = useWholeSteps(sandboxId, rows, name);
  const writers = useMemo(
    () =>
      blameLines(
        lines,
        steps.map(({ edit }) => edit),
      ),
    [lines, steps],
  );
  // A change that is told of is a reason to look at the file again.
  const { refetch } = now;
  const told = useRef(steps.length);
  useEffect(() => {
    if (keptAt !== undefined || told.current === steps.length) return;
    told.current = steps.length;
    void refetch();
  }, [keptAt, steps.length, refetch]);
  const list = useRef<VListHandle>(null);
  const isShown = useRef(false);
  useEffect(() => {
    if (line === undefined || lines.length === 0 || isShown.current) return;
    isShown.current = true;
    list.current?.scrollToIndex(line - 1, { align: "center" });
  }, [line, lines]);

  const asked = new URLSearchParams(keptAt === undefined ? { path } : { path: name ?? path, at_seq: String(keptAt) });
  const address = `${API_BASE}/sandboxes/${encodeURIComponent(sandboxId)}/files/content?${asked.toString()}`;
  const size = read.data?.size ?? null;
  const story = line === undefined ? undefined : steps[writers[line - 1] ?? -1];
  return (
    <section aria-label="File" className="flex min-h-0 min-w-0 flex-1 flex-col">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line px-3 py-1.5 md:px-4">
        <Button size="small" look="ghost" onClick={onClose} className="md:hidden">
          <ArrowUp size={13} className="-rotate-90" /> Folder
        </Button>
        <h2 className="min-w-0 flex-1 truncate font-mono text-xs font-medium" title={path}>
          {nameOf(path)}
        </h2>
        <p className="text-2xs text-ink-3 tabular-nums">
          {[
            size === null ? null : formatBytes(size),
            text === undefined ? null : plural(lines.length, "line"),
            steps.length === 0 ? null : plural(steps.length, "change"),
          ]
            .filter((part) => part !== null)
            .join(" · ")}
        </p>
        {text !== undefined && <CopyButton text={text} name={path} />}
        <a
          href={address}
          download={nameOf(path)}
          className="inline-flex h-7 items-center gap-1.5 rounded-md border border-line-strong bg-raised px-2.5 text-xs font-medium hover:bg-hover max-md:h-9"
        >
          <ArrowDownToLine size={13} aria-hidden /> Download
        </a>
      </div>
      {read.isError && (
        <div className="p-4">
          <Problem error={read.error} what="This file could not be read" onRetry={() => void read.refetch()} />
        </div>
      )}
      {read.isPending && <div className="skeleton m-4 h-60" />}
      {isBinary && <Empty text="These bytes are no text. Download the file to look at it." />}
      {text === "" && <Empty text="The file is empty." />}
      {text !== undefined && text !== "" && (
        <div className="flex min-h-0 flex-1 max-lg:flex-col">
          <VList
            ref={list}
            tabIndex={0}
            role="region"
            aria-label={`Content of ${nameOf(path)}`}
            className="min-h-0 flex-1 py-2 font-mono text-xs leading-[1.6rem] focus-visible:-outline-offset-2"
            data={lines}
          >
            {(content, at) => (
              <BlamedLine
                key={at}
                at={at}
                text={content}
                language={language}
                state={states[at]}
                step={steps[writers[at] ?? -1]}
                isFirst={at === 0 || writers[at] !== writers[at - 1]}
                hasGutter={steps.length > 0}
                isOpen={line === at + 1}
                isOfOpen={story !== undefined && steps[writers[at] ?? -1] === story}
                onLine={onLine}
              />
            )}
          </VList>
          {line !== undefined && text !== undefined && (
            <LineStory
              sandboxId={sandboxId}
              rows={rows}
              line={line}
              text={lines[line - 1] ?? ""}
              step={story}
              onClose={() => onLine(undefined)}
            />
          )}
        </div>
      )}
      {read.data?.isCut === true && (
        <p className="border-t border-line px-4 py-1.5 text-xs text-ink-3">
          The first megabyte is shown. Download the file to have it whole.
        </p>
      )}
    </section>
  );
}

interface BlamedLineProps {
  readonly at: number;
  readonly text: string;
  readonly language: Language | undefined;
  readonly state: CodeState | undefined;
  readonly step: FileStep | undefined;
  /** Of the lines that the same step wrote. */
  readonly isFirst: boolean;
  readonly hasGutter: boolean;
  readonly isOpen: boolean;
  readonly isOfOpen: boolean;
  readonly onLine: (line: number | undefined) => void;
}

function BlamedLine({
  at,
  text,
  language,
  state,
  step,
  isFirst,
  hasGutter,
  isOpen,
  isOfOpen,
  onLine,
}: BlamedLineProps) {
  return (
    <div
      data-line={at + 1}
      data-turn={step?.row.turn ?? undefined}
      data-event={step?.row.seq}
      className={cx(
        "grid",
        hasGutter
          ? "grid-cols-[3.25rem_3rem_1fr] max-md:grid-cols-[2.5rem_2.25rem_1fr]"
          : "grid-cols-[3.5rem_1fr] max-md:grid-cols-[2.5rem_1fr]",
        isOpen ? "bg-live-soft" : isOfOpen ? "bg-sunken" : "hover:bg-sunken",
      )}
    >
      {hasGutter &&
        (step === undefined ? (
          <span className="border-l-2 border-transparent" />
        ) : (
          <button
            type="button"
            tabIndex={isFirst ? 0 : -1}
            aria-label={`T${step.row.turn ?? "?"}: line ${at + 1}, tell more`}
            aria-pressed={isOpen}
            title={`Turn ${step.row.turn ?? "?"}, ${formatClock(step.row.at)}`}
            onClick={() => onLine(isOpen ? undefined : at + 1)}
            className="border-l-2 border-live pl-2 text-left text-2xs leading-[1.6rem] font-medium text-live-ink tabular-nums select-none hover:bg-live-soft focus-visible:-outline-offset-2"
          >
            {isFirst ? `T${step.row.turn ?? "?"}` : ""}
          </button>
        ))}
      <span className="pr-3 text-right text-ink-3 tabular-nums select-none">{at + 1}</span>
      <span className="pr-4 break-all whitespace-pre-wrap">
        <CodeText text={text} language={language} state={state} />
      </span>
    </div>
  );
}

const Empty = ({ text }: { readonly text: string }) => (
  <div className="grid min-h-0 flex-1 place-items-center p-6 text-sm text-ink-3">{text}</div>
);
