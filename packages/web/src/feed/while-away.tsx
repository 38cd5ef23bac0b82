/** What happened in a run since this person last had it open: a few words, and the way to the first thing they have not seen. */
import type { FeedRow } from "@drover/contract/views";
import { isFailedRow } from "@drover/contract/views";
import { ArrowDown, X } from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";
import { formatAge, plural } from "../data/format.ts";
import { Button } from "../ui/button.tsx";

const KEY = "drover.seen";
const KEPT = 200;
/** Whoever was gone for less remembers. */
const AWAY_MS = 60_000;

interface Seen {
  /** sandbox_seq of the newest event that was there. */
  readonly seq: number;
  readonly at: number;
}

function readSeen(): Readonly<Record<string, Seen>> {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? "{}") as Readonly<Record<string, Seen>>;
  } catch {
    // Storage may be closed or hold something else: then nobody was here.
    return {};
  }
}

function writeSeen(sandboxId: string, seen: Seen): void {
  const { [sandboxId]: _, ...others } = readSeen();
  try {
    localStorage.setItem(
      KEY,
      JSON.stringify(Object.fromEntries([...Object.entries(others), [sandboxId, seen] as const].slice(-KEPT))),
    );
  } catch {
    // Storage may be closed or full: nothing is told next time.
  }
}

interface WhileAwayProps {
  readonly sandboxId: string;
  readonly rows: readonly FeedRow[];
  /** sandbox_seq of the newest event. */
  readonly head: number;
  readonly isLoading: boolean;
  readonly onSelect: (seq: number) => void;
  /** The first row that was not there then. */
  readonly onFirst: (seq: number) => void;
}

export function WhileAway({ sandboxId, rows, head, isLoading, onSelect, onFirst }: WhileAwayProps) {
  const [before] = useState(() => ({ seen: readSeen()[sandboxId], openedAt: Date.now() }));
  const [isRead, setRead] = useState(false);
  // What comes while the page is open is seen as it comes.
  const [opened, setOpened] = useState<number>();
  if (opened === undefined && !isLoading && head > 0) setOpened(head);
  const newest = useRef(0);
  useEffect(() => {
    newest.current = head;
  }, [head]);
  useEffect(() => {
    const note = () => {
      if (newest.current > 0) writeSeen(sandboxId, { seq: newest.current, at: Date.now() });
    };
    window.addEventListener("pagehide", note);
    return () => {
      window.removeEventListener("pagehide", note);
      note();
    };
  }, [sandboxId]);
  const { seen, openedAt } = before;
  const missed = useMemo(
    () =>
      seen === undefined || opened === undefined
        ? []
        : rows.filter((row) => row.seq > seen.seq && row.seq <= opened && row.kind !== "heartbeats"),
    [rows, seen, opened],
  );
  const [first] = missed;
  const wasAway = seen !== undefined && openedAt - seen.at >= AWAY_MS;
  const firstSeq = wasAway ? first?.seq : undefined;
  useEffect(() => {
    if (firstSeq !== undefined) onFirst(firstSeq);
  }, [firstSeq, onFirst]);
  if (isRead || seen === undefined || !wasAway || first === undefined) return null;
  return (
    <section
      aria-label="While you were away"
      className="flex flex-wrap items-center gap-x-4 gap-y-1 border-b border-line bg-done-soft px-3 py-1.5 text-xs text-done-ink md:px-5"
    >
      <p className="min-w-0 flex-1 basis-60">
        <span className="font-semibold">While you were away ({formatAge(openedAt - seen.at)}):</span> {toDigest(missed)}
      </p>
      <Button
        size="small"
        className="max-md:h-9"
        onClick={() => {
          onSelect(first.seq);
          setRead(true);
        }}
      >
        <ArrowDown size={13} /> First of them
      </Button>
      <Button
        look="ghost"
        size="icon"
        className="size-7 text-done-ink"
        aria-label="Dismiss"
        onClick={() => setRead(true)}
      >
        <X size={14} />
      </Button>
    </section>
  );
}

function toDigest(rows: readonly FeedRow[]): string {
  const count = (isOne: (row: FeedRow) => boolean) => rows.filter(isOne).length;
  const files = new Set(rows.flatMap((row) => (row.kind === "edit" ? row.edits.map(({ path }) => path) : [])));
  const parts = [
    [count((row) => row.kind === "message"), "message"],
    [count((row) => row.kind === "command"), "command"],
    [files.size, "changed file"],
    [count(isFailedRow), "failure"],
    [count((row) => row.kind === "permission"), "question"],
    [count((row) => row.kind === "guardian"), "verdict"],
  ] as const;
  const told = parts.filter(([number]) => number > 0).map(([number, name]) => plural(number, name));
  return told.length === 0 ? plural(rows.length, "event") : told.join(", ");
}
