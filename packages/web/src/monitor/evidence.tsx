/** The events that a verdict or a sign rests on, each one click away; and the sandbox they are of. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { sandboxesQuery } from "../data/queries.ts";
import { toTitle } from "../data/sandbox-title.ts";
import { formatCount } from "../data/format.ts";

const SHOWN = 6;

export function Evidence({ sandboxId, seqs }: { readonly sandboxId: string; readonly seqs: readonly number[] }) {
  if (seqs.length === 0) return <span className="text-xs text-ink-3">no event named</span>;
  const shown = seqs.slice(-SHOWN);
  return (
    <span className="inline-flex flex-wrap items-center gap-1.5">
      {seqs.length > shown.length && (
        <span className="text-xs text-ink-3">{formatCount(seqs.length - shown.length)} before</span>
      )}
      {shown.map((seq) => (
        <Link
          key={seq}
          to="/sandboxes/$sandboxId"
          params={{ sandboxId }}
          search={{ seq }}
          aria-label={`Event ${seq}`}
          className="inline-flex h-6 items-center rounded-md border border-line bg-raised px-1.5 font-mono text-2xs text-live-ink hover:bg-hover"
        >
          #{seq}
        </Link>
      ))}
    </span>
  );
}

/** Of sandboxes, by id. */
export type Titles = ReadonlyMap<string, string>;

/** Titles of the sandboxes that the page knows. */
export function useTitles(): Titles {
  const list = useInfiniteQuery(sandboxesQuery({}));
  return useMemo(
    () => new Map(list.data?.pages.flatMap((page) => page.items.map((item) => [item.id as string, toTitle(item)]))),
    [list.data],
  );
}

export function SandboxName({ id, titles }: { readonly id: string; readonly titles: Titles }) {
  return (
    <Link to="/sandboxes/$sandboxId" params={{ sandboxId: id }} className="rounded font-medium hover:underline">
      {titles.get(id) ?? id}
    </Link>
  );
}
