/** Two runs side by side: what each did turn by turn, where they part, and what they left. */
import { TERMINAL_SANDBOX_STATES, type Moment, type MomentFile, type Sandbox } from "@drover/contract";
import {
  compareByFile,
  compareRuns,
  isTestRun,
  toActivityLine,
  toTurns,
  type CommandRow,
  type Comparison,
  type RunTurn,
  type TurnPair,
} from "@drover/contract/views";
import type { LogEvent } from "@drover/client";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { ArrowRightLeft, Flag, Split } from "lucide-react";
import { lazy, Suspense, useEffect, useMemo, type ReactNode } from "react";
import { VList } from "virtua";
import { TopBar } from "../app/top-bar-slot.tsx";
import { formatCost, formatCount, formatDuration, formatSpan, plural } from "../data/format.ts";
import { sandboxesQuery, sandboxQuery } from "../data/queries.ts";
import { toTitle } from "../data/sandbox-title.ts";
import { useMay } from "../data/use-may.ts";
import { useRun } from "../data/use-run.ts";
import { momentQuery } from "../replay/queries.ts";
import { useSettled } from "../replay/use-settled.ts";
import { parseCompareSearch, type CompareSearch } from "../search-params.ts";
import { Button } from "../ui/button.tsx";
import { cx } from "../ui/class-names.ts";
import { Choice } from "../ui/field.tsx";
import { Problem } from "../ui/problem.tsx";
import { Select } from "../ui/select.tsx";
import { ChooseWinner, Winner } from "./choose-winner.tsx";
import { FilePairs } from "./file-pairs.tsx";
import { Head } from "./head.tsx";

const RaceDialog = lazy(() => import("./race-dialog.tsx").then((module) => ({ default: module.RaceDialog })));
const TwoVersions = lazy(() => import("./two-versions.tsx").then((module) => ({ default: module.TwoVersions })));

const ALIGNS = [
  { value: "turn", label: "By likeness" },
  { value: "order", label: "By order" },
  { value: "time", label: "By time" },
  { value: "file", label: "By file" },
] as const;
const FOLDED_EVERY_MS = 1_000;
const ACTIONS_SHOWN = 12;
/** How often it is asked how two runs stand that are not over. */
const STANDING_EVERY_MS = 2_000;

export function ComparePage() {
  const search = parseCompareSearch(useSearch({ from: "/inside/compare" }));
  const navigate = useNavigate({ from: "/compare" });
  const change = (part: { [K in keyof CompareSearch]?: CompareSearch[K] | undefined }) =>
    void navigate({ search: (old) => parseCompareSearch({ ...old, ...part }), replace: true });
  useEffect(() => {
    document.title = "Compare · Drover";
  }, []);
  const mayOperate = useMay("operate");
  const { a, b, align = "turn" } = search;
  return (
    <div className="flex h-full min-h-0 flex-col">
      <TopBar>
        <h1 className="text-base font-semibold tracking-tight">Compare</h1>
        <span className="flex-1" />
        {mayOperate && (
          <Button size="small" onClick={() => change({ race: true })}>
            <Flag size={13} aria-hidden /> <span className="max-[24rem]:sr-only">Race two agents</span>
          </Button>
        )}
      </TopBar>
      <Suspense>
        {mayOperate && search.race === true && (
          <RaceDialog
            onClose={() => change({ race: undefined })}
            onStart={(pair) => void navigate({ search: pair, replace: true })}
          />
        )}
      </Suspense>
      <div className="flex flex-wrap items-end gap-3 border-b border-line px-3 py-3 md:px-5">
        <PickRun label="Run A" value={a} onChange={(id) => change({ a: id })} />
        <Button size="icon" aria-label="Swap the runs" onClick={() => change({ a: b, b: a })} className="mb-1">
          <ArrowRightLeft size={15} />
        </Button>
        <PickRun label="Run B" value={b} onChange={(id) => change({ b: id })} />
        <span className="flex-1 max-lg:hidden" />
        <div className="mb-1">
          <Choice
            label="Align"
            value={align}
            options={ALIGNS}
            onChange={(next) => change({ align: next === "turn" ? undefined : next })}
          />
        </div>
      </div>
      {a === undefined || b === undefined ? (
        <div className="grid min-h-0 flex-1 place-items-center p-6 text-sm text-ink-3">
          Choose two runs to see where they part, or race two agents on one task.
        </div>
      ) : (
        <Both key={`${a} ${b}`} a={a} b={b} align={align} file={search.file} onFile={(file) => change({ file })} />
      )}
    </div>
  );
}

interface PickRunProps {
  readonly label: string;
  readonly value: string | undefined;
  readonly onChange: (id: string | undefined) => void;
}

function PickRun({ label, value, onChange }: PickRunProps) {
  const list = useInfiniteQuery(sandboxesQuery({}));
  const items = list.data?.pages.flatMap((page) => page.items) ?? [];
  const options = items.map((sandbox) => ({
    value: sandbox.id as string,
    label: `${toTitle(sandbox)} (${sandbox.state})`,
  }));
  const isListed = value === undefined || options.some((option) => option.value === value);
  return (
    <Select
      label={label}
      className="min-w-0 max-w-96 flex-1 basis-60"
      value={value ?? ""}
      onChange={(event) => onChange(event.target.value === "" ? undefined : event.target.value)}
      options={[
        { value: "", label: "Choose a run" },
        ...(isListed ? [] : [{ value: value, label: value }]),
        ...options,
      ]}
    />
  );
}

interface Side {
  readonly sandbox: Sandbox | undefined;
  readonly turns: readonly RunTurn[];
  readonly move: string | undefined;
  /** The last run of tests. */
  readonly tested: CommandRow | undefined;
  readonly end: Moment | undefined;
  /** What it left is being read. */
  readonly isEndLoading: boolean;
  readonly isLoading: boolean;
  readonly error: unknown;
}

function useSide(sandboxId: string): Side {
  const sandbox = useQuery({
    ...sandboxQuery(sandboxId),
    refetchInterval: ({ state }) =>
      state.data !== undefined && TERMINAL_SANDBOX_STATES.has(state.data.state) ? false : STANDING_EVERY_MS,
  });
  const { run } = useRun(sandboxId);
  const slow = useSettled(run, FOLDED_EVERY_MS);
  const turns = useMemo(() => toTurns(slow.view.rows, slow.log?.events ?? []), [slow]);
  const last = slow.log?.events.findLast((event) => event.event_type === "workspace.checkpoint")?.seq;
  const move = useMemo(() => findMove(slow.log?.events ?? []), [slow]);
  const tested = useMemo(() => slow.view.rows.findLast(isTestRun), [slow]);
  const end = useQuery({ ...momentQuery(sandboxId, last ?? 0), enabled: last !== undefined });
  return {
    sandbox: sandbox.data,
    turns,
    move: sandbox.data?.state === "running" ? move : undefined,
    tested,
    end: end.data,
    isEndLoading: end.isLoading,
    // The rows come a moment after the log.
    isLoading: slow.log?.isLoading ?? true,
    error: sandbox.error ?? run.log?.error,
  };
}

function findMove(events: readonly LogEvent[]): string | undefined {
  const last = events.findLast((event) => toActivityLine(event) !== null);
  return last === undefined ? undefined : (toActivityLine(last) ?? undefined);
}

interface BothProps {
  readonly a: string;
  readonly b: string;
  readonly align: NonNullable<CompareSearch["align"]>;
  /** Whose two versions are compared. */
  readonly file: string | undefined;
  readonly onFile: (path: string | undefined) => void;
}

function Both({ a, b, align, file, onFile }: BothProps) {
  const left = useSide(a);
  const right = useSide(b);
  const compared = useMemo(
    () => compareRuns(left.turns, right.turns, align === "file" ? "turn" : align),
    [left.turns, right.turns, align],
  );
  const files = useMemo(() => compareFiles(left.end, right.end), [left.end, right.end]);
  const mayOperate = useMay("operate");
  const error = left.error ?? right.error;
  if (error !== undefined && error !== null)
    return (
      <div className="grid min-h-0 flex-1 place-items-center p-6">
        <Problem error={error} what="A run could not be opened" onRetry={() => location.reload()} />
      </div>
    );
  if (left.isLoading || right.isLoading || left.sandbox === undefined || right.sandbox === undefined)
    return <div className="skeleton m-4 h-60" role="status" aria-label="Reading both runs" />;
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <div className="grid shrink-0 grid-cols-2 border-b border-line max-md:text-xs">
        <Head sandbox={left.sandbox} turns={left.turns} other={right.turns} move={left.move} tested={left.tested}>
          {mayOperate && <ChooseWinner name="A" winner={left.sandbox} loser={right.sandbox} />}
        </Head>
        <Head
          sandbox={right.sandbox}
          turns={right.turns}
          other={left.turns}
          move={right.move}
          tested={right.tested}
          isRight
        >
          {mayOperate && <ChooseWinner name="B" winner={right.sandbox} loser={left.sandbox} />}
        </Head>
      </div>
      <Winner a={left.sandbox} b={right.sandbox} />
      <Outcome compared={compared} files={files} isReading={left.isEndLoading || right.isEndLoading} onFile={onFile} />
      {align === "file" ? (
        <FilePairs a={a} b={b} pairs={compareByFile(left.turns, right.turns)} differing={files} onFile={onFile} />
      ) : (
        <Pairs a={a} b={b} compared={compared} isTimed={align === "time"} />
      )}
      <Suspense>
        {file !== undefined && (
          <TwoVersions
            path={file}
            a={{ sandboxId: a, end: left.end }}
            b={{ sandboxId: b, end: right.end }}
            onClose={() => onFile(undefined)}
          />
        )}
      </Suspense>
    </div>
  );
}

/** Contents are compared by their hash, so files of two sandboxes can be. */
function compareFiles(left: Moment | undefined, right: Moment | undefined): readonly string[] | undefined {
  const [ours, theirs] = [left?.files ?? undefined, right?.files ?? undefined];
  if (ours === undefined || theirs === undefined) return undefined;
  const toMap = (files: readonly MomentFile[]) =>
    new Map(files.filter(({ change }) => change !== "deleted").map(({ path, object }) => [path, object]));
  const [one, other] = [toMap(ours), toMap(theirs)];
  return [...new Set([...one.keys(), ...other.keys()])].filter((path) => one.get(path) !== other.get(path)).toSorted();
}

interface OutcomeProps {
  readonly compared: Comparison;
  /** That differ in the end; undefined where they were not kept. */
  readonly files: readonly string[] | undefined;
  readonly onFile: (path: string) => void;
  readonly isReading: boolean;
}

const FILES_SHOWN = 8;

function Outcome({ compared, files, isReading, onFile }: OutcomeProps) {
  const parting = compared.parting === undefined ? undefined : compared.pairs[compared.parting];
  return (
    <div
      className="flex flex-wrap items-center gap-x-5 gap-y-1 border-b border-line bg-surface px-3 py-2 text-xs md:px-5"
      data-testid="outcome"
    >
      <span className="inline-flex items-center gap-1.5">
        <Split size={13} aria-hidden className="shrink-0 text-ink-3" />
        {parting === undefined
          ? "Both did the same, turn by turn."
          : `They part at ${[parting.a && `turn ${parting.a.turn} of A`, parting.b && `turn ${parting.b.turn} of B`].filter(Boolean).join(", ")}.`}
      </span>
      <span className="flex min-w-0 flex-wrap items-baseline gap-x-2 text-ink-2">
        {files === undefined
          ? isReading
            ? "Reading what they left."
            : "The files they left were not kept on both sides."
          : files.length === 0
            ? "They left the same files."
            : `They left ${plural(files.length, "different file")}:`}
        {files?.slice(0, FILES_SHOWN).map((path) => (
          <button
            key={path}
            type="button"
            onClick={() => onFile(path)}
            className="min-w-0 truncate font-mono text-live-ink underline underline-offset-2"
          >
            {path}
          </button>
        ))}
        {(files?.length ?? 0) > FILES_SHOWN && (
          <span>and {plural((files?.length ?? 0) - FILES_SHOWN, "more file")}</span>
        )}
      </span>
    </div>
  );
}

interface PairsProps {
  readonly a: string;
  readonly b: string;
  readonly compared: Comparison;
  /** Each turn says when it began. */
  readonly isTimed: boolean;
}

function Pairs({ a, b, compared, isTimed }: PairsProps) {
  return (
    <VList
      role="table"
      aria-label="Turns of both runs"
      tabIndex={0}
      data={compared.pairs}
      className="min-h-0 flex-1 focus-visible:-outline-offset-2"
    >
      {(pair, at) => (
        <div
          role="row"
          key={at}
          data-parting={at === compared.parting}
          className={cx("grid grid-cols-2 border-b border-line", at === compared.parting && "border-t-2 border-t-wait")}
        >
          <Cell id={a} turn={pair.a} other={pair.b} pair={pair} isTimed={isTimed} />
          <Cell id={b} turn={pair.b} other={pair.a} pair={pair} isTimed={isTimed} isRight />
        </div>
      )}
    </VList>
  );
}

interface CellProps {
  readonly id: string;
  readonly turn: RunTurn | undefined;
  readonly other: RunTurn | undefined;
  readonly pair: TurnPair;
  readonly isTimed: boolean;
  readonly isRight?: boolean;
}

function Cell({ id, turn, other, pair, isTimed, isRight = false }: CellProps) {
  const look = cx("min-w-0 px-3 py-2 md:px-5", isRight && "border-l border-line");
  if (turn === undefined)
    return (
      <div role="cell" className={cx(look, "bg-sunken text-xs text-ink-3")}>
        {isTimed ? "nothing at that time" : "no turn like this"}
      </div>
    );
  const shared = new Set(other?.actions);
  return (
    <div role="cell" className={look}>
      <p className="flex flex-wrap items-baseline gap-x-3 text-xs text-ink-3 tabular-nums">
        <Link
          to="/sandboxes/$sandboxId"
          params={{ sandboxId: id }}
          search={{ e: turn.seq }}
          className="font-semibold text-ink-2 underline-offset-2 hover:underline"
        >
          Turn {turn.turn}
        </Link>
        {isTimed && <span title="after its run began">at {formatSpan(turn.startMs)}</span>}
        <span>{formatDuration(turn.durationMs)}</span>
        <span>{formatCost(turn.costUsd)}</span>
        {turn.added + turn.removed > 0 && (
          <span>
            <span className="text-live-ink">+{formatCount(turn.added)}</span>{" "}
            <span className="text-fail-ink">−{formatCount(turn.removed)}</span>
          </span>
        )}
        {turn.errors > 0 && <span className="text-fail-ink">{plural(turn.errors, "error")}</span>}
        {!isRight && pair.b !== undefined && <span>{Math.round(pair.likeness * 100)} % alike</span>}
      </p>
      <ul className="mt-1 flex flex-col gap-0.5 font-mono text-xs">
        {turn.actions.slice(0, ACTIONS_SHOWN).map((action, at) => (
          <Action key={at} isShared={shared.has(action)}>
            {action}
          </Action>
        ))}
      </ul>
      {turn.actions.length > ACTIONS_SHOWN && (
        <p className="text-2xs text-ink-3">and {plural(turn.actions.length - ACTIONS_SHOWN, "more action")}</p>
      )}
      {turn.said !== "" && <p className="mt-1 line-clamp-2 text-xs break-words text-ink-2">{turn.said}</p>}
    </div>
  );
}

const Action = ({ isShared, children }: { readonly isShared: boolean; readonly children: ReactNode }) => (
  <li className={cx("flex gap-1.5", isShared ? "text-ink-3" : "text-ink")}>
    <span aria-hidden className={isShared ? "text-ink-3" : "text-wait-ink"}>
      {isShared ? "=" : "≠"}
    </span>
    <span className="sr-only">{isShared ? "in both:" : "only here:"}</span>
    <span className="min-w-0 truncate">{children}</span>
  </li>
);
