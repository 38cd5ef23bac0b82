/** The patches of one file, step by step: read as one column or as two, hunk by hunk, and commented on. */
import {
  countLines,
  parseDiff,
  toSides,
  withoutBlankChanges,
  type DiffLine,
  type DiffPair,
} from "@drover/contract/views";
import { useQuery } from "@tanstack/react-query";
import { Columns2, MessageSquarePlus, Pilcrow, WrapText, type LucideIcon } from "lucide-react";
import { useCallback, useEffect, useMemo, useRef, type ReactElement } from "react";
import { VList, type VListHandle } from "virtua";
import type { ActionName } from "../app/actions.ts";
import { useKeys } from "../app/keys.ts";
import { formatClock, plural } from "../data/format.ts";
import { fileDiffQuery } from "../data/queries.ts";
import { usePatchColours } from "../feed/code.tsx";
import { DiffRow } from "../feed/diff-table.tsx";
import { Button } from "../ui/button.tsx";
import { cx } from "../ui/class-names.ts";
import { CopyButton } from "../ui/copy.tsx";
import { Problem } from "../ui/problem.tsx";
import { Tooltip } from "../ui/tooltip.tsx";
import { toSign, type Changed, type Step } from "./changed.ts";
import { isViewed, setViewed, useDiffLook } from "./diff-look.ts";
import { addComment } from "./review.ts";
import { SplitRow } from "./split-row.tsx";

/** Where the hunks of a step are, and the way to one of them. */
interface Stops {
  readonly hunks: readonly number[];
  readonly go: (line: number) => void;
}

interface PatchesProps {
  readonly sandboxId: string;
  readonly changed: Changed;
  /** Beyond the last hunk, or before the first one. */
  readonly onLeave: (step: 1 | -1) => void;
}

export function Patches({ sandboxId, changed, onLeave }: PatchesProps) {
  const { isSplit, isWrapped, hidesBlanks, viewed } = useDiffLook();
  const sign = toSign(changed);
  const isSeen = isViewed(viewed, sandboxId, changed.path, sign);
  const stops = useRef(new Map<number, Stops>());
  const here = useRef(-1);
  const keep = useCallback((at: number, own: Stops | undefined) => {
    if (own === undefined) stops.current.delete(at);
    else stops.current.set(at, own);
  }, []);
  const comment = useCallback(
    (line: DiffLine | undefined) =>
      addComment(sandboxId, {
        path: changed.path,
        line: line?.newLine ?? null,
        quote: line?.text ?? "",
      }),
    [sandboxId, changed.path],
  );
  const walk = (step: 1 | -1) => {
    const all = changed.steps.flatMap((_, at) => {
      const own = stops.current.get(at);
      return (own?.hunks ?? []).map((line) => () => own?.go(line));
    });
    const next = here.current + step;
    if (next < 0 || next >= all.length) return onLeave(step);
    here.current = next;
    all[next]?.();
  };
  const toggleViewed = () => setViewed(sandboxId, changed.path, isSeen ? undefined : sign);
  useKeys({
    nextHunk: () => walk(1),
    previousHunk: () => walk(-1),
    split: () => useDiffLook.setState({ isSplit: !isSplit }),
    wrap: () => useDiffLook.setState({ isWrapped: !isWrapped }),
    viewed: toggleViewed,
  });
  return (
    <section aria-label="Patches" className="flex min-h-0 min-w-0 flex-1 flex-col">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1.5 border-b border-line px-3 py-1.5 md:px-4">
        <h2 className="min-w-0 flex-1 basis-40 truncate font-mono text-xs font-medium" title={changed.path}>
          {changed.path}
        </h2>
        <p className="text-2xs text-ink-3 tabular-nums">
          {changed.change} · {plural(changed.steps.length, "step")}
        </p>
        <div role="group" aria-label="How patches are drawn" className="flex items-center">
          <Switch
            icon={Columns2}
            label="Both sides"
            action="split"
            isOn={isSplit}
            className="max-md:hidden"
            onToggle={() => useDiffLook.setState({ isSplit: !isSplit })}
          />
          <Switch
            icon={WrapText}
            label="Wrap long lines"
            action="wrap"
            isOn={isWrapped}
            onToggle={() => useDiffLook.setState({ isWrapped: !isWrapped })}
          />
          <Switch
            icon={Pilcrow}
            label="Leave out changes of blanks"
            isOn={hidesBlanks}
            onToggle={() => useDiffLook.setState({ hidesBlanks: !hidesBlanks })}
          />
        </div>
        <Tooltip label="Tick it off until it changes again" action="viewed">
          <label className="flex h-7 cursor-pointer items-center gap-1.5 text-xs text-ink-2 max-md:h-9">
            <input type="checkbox" className="size-3.5 accent-live-ink" checked={isSeen} onChange={toggleViewed} />
            Viewed
          </label>
        </Tooltip>
        <Button size="small" className="max-md:h-9" onClick={() => comment(undefined)}>
          <MessageSquarePlus size={13} /> Comment
        </Button>
      </div>
      <div
        className="flex min-h-0 flex-1 flex-col gap-3 overflow-y-auto p-3 focus-visible:-outline-offset-2 md:p-4"
        tabIndex={0}
        role="region"
        aria-label="Steps"
      >
        {changed.steps.map((step, at) => (
          <Patch
            key={step.edit.eventId}
            at={at}
            sandboxId={sandboxId}
            step={step}
            isOnly={changed.steps.length === 1}
            onComment={comment}
            onStops={keep}
          />
        ))}
      </div>
    </section>
  );
}

interface SwitchProps {
  readonly icon: LucideIcon;
  readonly label: string;
  readonly action?: ActionName;
  readonly isOn: boolean;
  readonly className?: string;
  readonly onToggle: () => void;
}

function Switch({ icon: Icon, label, action, isOn, className, onToggle }: SwitchProps) {
  return (
    <Tooltip label={label} {...(action === undefined ? {} : { action })}>
      <Button
        look="ghost"
        size="icon"
        aria-label={label}
        aria-pressed={isOn}
        onClick={onToggle}
        className={cx("size-7 aria-pressed:bg-live-soft aria-pressed:text-live-ink max-md:size-9", className)}
      >
        <Icon size={14} />
      </Button>
    </Tooltip>
  );
}

/** So many lines are drawn in one piece; a longer patch scrolls in a place of its own. */
const DRAWN_LINES = 400;
const PHONE = matchMedia("(max-width: 767px)");
const UNWRAPPED = "[&_[role=row]]:w-max [&_[role=row]]:min-w-full [&_[role=cell]:last-child]:whitespace-pre";

interface PatchProps {
  readonly at: number;
  readonly sandboxId: string;
  readonly step: Step;
  readonly isOnly: boolean;
  readonly onComment: (line: DiffLine) => void;
  readonly onStops: (at: number, stops: Stops | undefined) => void;
}

function Patch({ at, sandboxId, step, isOnly, onComment, onStops }: PatchProps) {
  const { edit, row } = step;
  const { isSplit, isWrapped, hidesBlanks } = useDiffLook();
  const fetched = useQuery({ ...fileDiffQuery(sandboxId, edit.eventId), enabled: !edit.isComplete });
  const patch = edit.isComplete ? edit.patch : (fetched.data?.diff ?? edit.patch);
  const lines = useMemo(() => {
    const all = parseDiff(patch).filter((line) => line.kind !== "file");
    return hidesBlanks ? withoutBlankChanges(all) : all;
  }, [patch, hidesBlanks]);
  const colours = usePatchColours(edit.path, lines);
  const isTwo = isSplit && !PHONE.matches;
  const drawn = useMemo((): readonly (DiffLine | DiffPair)[] => (isTwo ? toSides(lines) : lines), [lines, isTwo]);
  const list = useRef<VListHandle>(null);
  const body = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const hunks = drawn.flatMap((one, n) => (("kind" in one ? one : one.left)?.kind === "hunk" ? [n] : []));
    const go = (line: number) => {
      body.current?.scrollIntoView({ block: "nearest" });
      if (list.current === null) body.current?.children[line]?.scrollIntoView({ block: "start" });
      else list.current.scrollToIndex(line, { align: "start" });
    };
    onStops(at, { hunks, go });
    return () => onStops(at, undefined);
  }, [at, drawn, onStops]);

  const draw = (one: DiffLine | DiffPair, n: number): ReactElement =>
    "kind" in one ? (
      <DiffRow key={n} line={one} colours={colours} onComment={onComment} />
    ) : (
      <SplitRow key={n} pair={one} colours={colours} onComment={onComment} />
    );
  const label = `Patch of ${edit.path}, ${formatClock(row.at)}`;
  return (
    <article
      ref={body}
      className={cx(
        "shrink-0 overflow-hidden rounded-lg border border-line bg-surface",
        isOnly && "flex min-h-0 flex-col",
      )}
    >
      <header className="flex items-center gap-3 border-b border-line px-3 py-1 text-2xs text-ink-3 tabular-nums">
        <time dateTime={row.at}>{formatClock(row.at)}</time>
        {row.turn !== null && <span>turn {row.turn}</span>}
        <span>
          <span className="text-live-ink">+{edit.added}</span> <span className="text-fail-ink">−{edit.removed}</span>
        </span>
        <span className="flex-1" />
        <CopyButton text={patch} label="Copy patch" name={`of ${formatClock(row.at)}`} />
      </header>
      {fetched.isError && (
        <div className="p-3">
          <Problem
            error={fetched.error}
            what="The whole patch could not be read"
            onRetry={() => void fetched.refetch()}
          />
        </div>
      )}
      {lines.length === 0 && !fetched.isLoading && (
        <p className="px-3 py-2 text-xs text-ink-3">
          {countLines(patch) === 0 ? "There is no text to compare." : "Only the file itself changed."}
        </p>
      )}
      {drawn.length > DRAWN_LINES ? (
        <VList
          ref={list}
          tabIndex={0}
          role="table"
          aria-label={label}
          className={cx("h-[60dvh]! font-mono text-xs leading-[20px]", !isWrapped && UNWRAPPED)}
          data={drawn}
        >
          {draw}
        </VList>
      ) : (
        drawn.length > 0 && (
          <div
            role="table"
            aria-label={label}
            tabIndex={isWrapped ? undefined : 0}
            className={cx("overflow-auto font-mono text-xs leading-[20px]", !isWrapped && UNWRAPPED)}
          >
            {drawn.map(draw)}
          </div>
        )
      )}
    </article>
  );
}
