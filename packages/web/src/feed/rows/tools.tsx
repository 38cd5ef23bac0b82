/** Rows of what the agent did: commands, reads, other tools, its plan. */
import type { CommandRow, ReadsRow, TodoRow, ToolCall, ToolRow } from "@drover/contract/views";
import { readText, toSubject } from "@drover/contract/views";
import {
  BookOpenText,
  ChevronRight,
  CircleCheckBig,
  CircleDot,
  Circle,
  ListTodo,
  LoaderCircle,
  SquareTerminal,
} from "lucide-react";
import { formatDuration, formatShort, plural } from "../../data/format.ts";
import { cx } from "../../ui/class-names.ts";
import { Json } from "../json.tsx";
import { Markdown } from "../markdown.tsx";
import { Output } from "../output.tsx";
import { RowFrame, RowToggle, toRail } from "../row-frame.tsx";
import { useOpen, useRunContext } from "../run-context.tsx";
import { toToolLook, type ToolLook } from "./tool-look.ts";

const PREVIEW_LINES = 6;
const PREVIEW_LINES_OF_FAILURE = 14;

const durationOf = (call: ToolCall): number | null => {
  if (call.durationMs !== null) return call.durationMs;
  return call.endedAt === null ? null : Date.parse(call.endedAt) - Date.parse(call.startedAt);
};

export function CallStatus({ call }: { readonly call: ToolCall }) {
  if (call.endedAt === null) {
    return (
      <span className="inline-flex shrink-0 items-center gap-1 text-xs text-ink-3">
        <LoaderCircle size={12} className="animate-spin" aria-hidden /> running
      </span>
    );
  }
  const durationMs = durationOf(call);
  return (
    <span className="inline-flex shrink-0 items-center gap-2 text-xs text-ink-3 tabular-nums">
      {call.isError && (
        <span className="font-semibold text-fail-ink">
          {call.exitCode === null ? "failed" : `exit ${call.exitCode}`}
        </span>
      )}
      {durationMs !== null && durationMs > 0 && formatDuration(durationMs)}
    </span>
  );
}

const Chevron = ({ isOpen }: { readonly isOpen: boolean }) => (
  <ChevronRight
    size={13}
    aria-hidden
    className={cx("ml-auto shrink-0 text-ink-3 transition-transform", isOpen && "rotate-90")}
  />
);

const QUOTED_LINES = 8;

/** What failed, in the words of the command itself. */
const toQuestion = ({ command, call }: CommandRow): string =>
  [
    `\`${command}\` failed${call.exitCode === null ? "" : ` with ${call.exitCode}`}:`,
    ...(call.output ?? "")
      .trimEnd()
      .split("\n")
      .slice(-QUOTED_LINES)
      .map((line) => `> ${line}`),
    "Why is that, and what will you do about it?",
  ].join("\n");

export function Command({ row }: { readonly row: CommandRow }) {
  const [isOpen, toggle] = useOpen(row.seq);
  const { mayAnswer, onAsk } = useRunContext();
  const { call } = row;
  return (
    <RowFrame row={row} icon={SquareTerminal} tone={call.isError ? "text-fail-ink" : "text-ink-2"}>
      <RowToggle isOpen={isOpen} onToggle={toggle}>
        <code className={cx("min-w-0 font-mono text-xs", isOpen ? "break-all whitespace-pre-wrap" : "truncate")}>
          <span className="text-ink-3">$ </span>
          {row.command || "(output without its command)"}
        </code>
        <CallStatus call={call} />
        <Chevron isOpen={isOpen} />
      </RowToggle>
      {call.output !== null && (
        <Output
          text={call.output}
          label={`Output of ${row.command}`}
          isOpen={isOpen}
          previewLines={call.isError ? PREVIEW_LINES_OF_FAILURE : PREVIEW_LINES}
          isError={call.isError}
        />
      )}
      {call.outputLength !== null && (
        <p className="mt-1 text-2xs text-ink-3">
          The worker cut this output; {plural(call.outputLength, "character")} were printed.
        </p>
      )}
      {call.isError && mayAnswer && onAsk !== undefined && (
        <button
          type="button"
          onClick={() => onAsk(toQuestion(row))}
          className="mt-1 inline-flex min-h-6 items-center rounded-md text-xs font-medium text-live-ink underline-offset-2 hover:underline"
        >
          Ask the agent about this
        </button>
      )}
    </RowFrame>
  );
}

const summarise = (calls: readonly ToolCall[]): string =>
  [...Map.groupBy(calls, (call) => call.tool)]
    .map(([tool, some]) => (/^read/i.test(tool) ? `Read ${plural(some.length, "file")}` : `${tool} ${some.length}`))
    .join(", ");

export function Reads({ row }: { readonly row: ReadsRow }) {
  const [isOpen, toggle] = useOpen(row.seq);
  const only = row.calls.length === 1 ? row.calls[0] : undefined;
  const isRunning = row.calls.some((call) => call.endedAt === null);
  return (
    <RowFrame row={row} icon={BookOpenText} isQuiet>
      <RowToggle isOpen={isOpen} onToggle={toggle}>
        <span className="shrink-0 text-ink-2">{only === undefined ? summarise(row.calls) : only.tool}</span>
        <span className="min-w-0 truncate font-mono text-xs text-ink-3">
          {only === undefined ? row.calls.map((call) => toSubject(call).split("/").at(-1)).join(", ") : toSubject(only)}
        </span>
        {isRunning && <LoaderCircle size={12} className="shrink-0 animate-spin text-ink-3" aria-label="running" />}
        <Chevron isOpen={isOpen} />
      </RowToggle>
      {isOpen && (
        <ul className="mt-1 flex flex-col gap-1">
          {row.calls.map((call) => (
            <li key={call.seq}>
              <p className="flex items-center gap-2 text-xs">
                <span className="shrink-0 text-ink-3">{call.tool}</span>
                <span className="min-w-0 truncate font-mono">{toSubject(call)}</span>
                <CallStatus call={call} />
              </p>
              {call.output !== null && (
                <Output
                  text={call.output}
                  label={`Result of ${call.tool} ${toSubject(call)}`}
                  isOpen={false}
                  previewLines={12}
                  isError={call.isError}
                />
              )}
            </li>
          ))}
        </ul>
      )}
    </RowFrame>
  );
}

const TOOL_TONES: Readonly<Record<ToolLook["kind"], string>> = {
  subagent: "text-mind",
  skill: "text-mind",
  mcp: "text-done-ink",
  web: "text-done-ink",
  other: "text-ink-2",
};

export function OtherTool({ row }: { readonly row: ToolRow }) {
  const [isOpen, toggle] = useOpen(row.seq);
  const { call } = row;
  const { kind, icon, name, subject } = toToolLook(call);
  const prompt = kind === "subagent" ? readText(call.input, "prompt") : null;
  // In the colour of everything that it does.
  const rail = toRail(call.toolUseId ?? "");
  return (
    <RowFrame row={row} icon={icon} tone={call.isError ? "text-fail-ink" : TOOL_TONES[kind]}>
      <RowToggle isOpen={isOpen} onToggle={toggle}>
        <span className="max-w-[60%] shrink-0 truncate font-medium" data-tool={kind}>
          {name}
        </span>
        <span className="min-w-0 truncate font-mono text-xs text-ink-3">{subject}</span>
        {call.tokens !== undefined && (
          <span className="shrink-0 text-xs text-ink-3 tabular-nums">{formatShort(call.tokens)} tokens</span>
        )}
        <CallStatus call={call} />
        <Chevron isOpen={isOpen} />
      </RowToggle>
      {isOpen && prompt !== null && (
        <div className={cx("mt-1 border-l-3 pl-3", rail)}>
          <p className="text-2xs font-semibold text-ink-3">asked</p>
          <p className="max-h-60 overflow-auto text-sm break-words whitespace-pre-wrap text-ink-2" tabIndex={0}>
            {prompt}
          </p>
        </div>
      )}
      {isOpen && prompt !== null && call.output !== null && (
        <div className={cx("mt-2 border-l-3 pl-3", rail)}>
          <p className="text-2xs font-semibold text-ink-3">answered</p>
          <Markdown text={call.output} />
        </div>
      )}
      {isOpen && prompt === null && Object.keys(call.input).length > 0 && (
        <Json value={call.input} label={`Input of ${call.tool}`} />
      )}
      {isOpen && prompt === null && call.output !== null && (
        <Output
          text={call.output}
          label={`Result of ${call.tool}`}
          isOpen
          previewLines={PREVIEW_LINES}
          isError={call.isError}
        />
      )}
      {!isOpen && call.isError && call.output !== null && (
        <Output
          text={call.output}
          label={`Result of ${call.tool}`}
          isOpen={false}
          previewLines={PREVIEW_LINES}
          isError
        />
      )}
    </RowFrame>
  );
}

const MARKS = { done: CircleCheckBig, active: CircleDot, open: Circle } as const;

export function TodoList({ items }: { readonly items: TodoRow["items"] }) {
  return (
    <ul className="flex flex-col gap-1">
      {items.map((item, at) => {
        const Mark = MARKS[item.state];
        return (
          <li
            key={at}
            className={cx(
              "flex items-start gap-2 text-sm",
              item.state === "done" && "text-ink-3 line-through",
              item.state === "active" && "font-medium",
            )}
          >
            <Mark
              size={14}
              aria-label={item.state}
              className={cx("mt-0.75 shrink-0", item.state === "open" ? "text-ink-3" : "text-live")}
            />
            <span className="min-w-0 break-words">{item.text}</span>
          </li>
        );
      })}
    </ul>
  );
}

export function Todo({ row }: { readonly row: TodoRow }) {
  const [isOpen, toggle] = useOpen(row.seq);
  const done = row.items.filter((item) => item.state === "done").length;
  const active = row.items.find((item) => item.state === "active");
  return (
    <RowFrame row={row} icon={ListTodo} isQuiet>
      <RowToggle isOpen={isOpen} onToggle={toggle}>
        <span className="shrink-0 text-ink-2">
          Plan {done}/{row.items.length}
        </span>
        <span className="truncate text-ink-3">{active?.text}</span>
        <Chevron isOpen={isOpen} />
      </RowToggle>
      {isOpen && (
        <div className="mt-1.5">
          <TodoList items={row.items} />
        </div>
      )}
    </RowFrame>
  );
}
