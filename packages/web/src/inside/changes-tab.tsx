/** What a run changed: files on the left, their patches on the right, of the whole run or of a part of it. */
import type { FeedView } from "@drover/contract/views";
import { useMemo } from "react";
import { plural } from "../data/format.ts";
import { Button } from "../ui/button.tsx";
import { Empty } from "../ui/empty.tsx";
import { Problem } from "../ui/problem.tsx";
import { ChangeList } from "./change-list.tsx";
import { Patches } from "./change-patches.tsx";
import { isInScope, ScopeChoice, type Scope } from "./change-scope.tsx";
import { byPlace, toChanged, useNet, type Checkpoint } from "./changed.ts";
import { useLastLook } from "./last-look.ts";
import { ReviewBar } from "./review-bar.tsx";
import { SentComments } from "./sent-comments.tsx";

interface ChangesTabProps {
  readonly sandboxId: string;
  readonly view: FeedView;
  readonly file: string | undefined;
  readonly chosen: Scope;
  readonly checkpoint: Checkpoint | undefined;
  /** Why no comment can be sent; undefined when one can. */
  readonly reason: string | undefined;
  readonly onOpen: (part: Scope & { readonly file?: string | undefined }) => void;
}

export function ChangesTab({ sandboxId, view, file, chosen, checkpoint, reason, onOpen }: ChangesTabProps) {
  const isNet = chosen.scope === "net" && checkpoint !== undefined;
  const net = useNet(sandboxId, checkpoint, isNet);
  const lastLook = useLastLook(sandboxId, view.lastSeq);
  const steps = useMemo(
    () => view.rows.flatMap((row) => (row.kind === "edit" ? row.edits.map((edit) => ({ row, edit })) : [])),
    [view.rows],
  );
  const turns = useMemo(
    () => [...new Set(steps.map(({ row }) => row.turn ?? 0))].toSorted((one, other) => one - other),
    [steps],
  );
  const { turn, scope, from, to } = chosen;
  const bySteps = useMemo(
    () => toChanged(steps.filter(({ row }) => isInScope(row, { turn, scope, from, to }, lastLook))),
    [steps, turn, scope, from, to, lastLook],
  );
  const news = useMemo(
    () => steps.filter(({ row }) => isInScope(row, { scope: "new" }, lastLook)).length,
    [steps, lastLook],
  );
  const all = isNet ? net.changed : bySteps;
  const changed = useMemo(() => all.toSorted(byPlace), [all]);
  const open = changed.find((one) => one.path === file) ?? changed[0];
  const openBeside = (step: 1 | -1) => {
    const next = changed[changed.findIndex((one) => one === open) + step];
    if (next !== undefined) onOpen({ ...chosen, file: next.path });
  };
  if (steps.length === 0)
    return (
      <div className="grid min-h-0 flex-1 place-items-center p-6 text-sm text-ink-3">
        This run has changed no file yet.
      </div>
    );
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <div className="flex min-h-0 flex-1 max-md:flex-col">
        <section
          aria-label="Changed files"
          className="flex min-h-0 shrink-0 flex-col border-line max-md:max-h-56 max-md:border-b md:w-80 md:border-r"
        >
          <div className="flex flex-wrap items-center gap-2 border-b border-line px-3 py-1.5">
            <ScopeChoice
              chosen={chosen}
              turns={turns}
              hasNet={checkpoint !== undefined}
              news={lastLook === 0 ? undefined : news}
              head={view.lastSeq}
              onChoose={(next) => onOpen({ ...next, file })}
            />
            <span className="flex-1" />
            <span className="text-2xs whitespace-nowrap text-ink-3 tabular-nums">{plural(changed.length, "file")}</span>
          </div>
          <ChangeList
            sandboxId={sandboxId}
            changed={changed}
            open={open}
            onOpen={(path) => onOpen({ ...chosen, file: path })}
          />
        </section>
        {isNet && net.read.isError && (
          <div className="p-4">
            <Problem
              error={net.read.error}
              what="What is left could not be read"
              onRetry={() => void net.read.refetch()}
            />
          </div>
        )}
        {isNet && net.read.isPending && <div className="skeleton m-4 h-60 flex-1" />}
        {open === undefined && !isNet && (
          <div className="grid min-h-0 flex-1 place-items-center">
            <Empty
              title={scope === "new" ? "Nothing changed since your last look." : "No file changed there."}
              action={
                <Button size="small" onClick={() => onOpen({})}>
                  Show the whole run
                </Button>
              }
            />
          </div>
        )}
        {open !== undefined && (
          <Patches
            key={`${open.path}/${turn ?? ""}/${scope ?? ""}`}
            sandboxId={sandboxId}
            changed={open}
            onLeave={openBeside}
          />
        )}
      </div>
      <SentComments sandboxId={sandboxId} rows={view.rows} onOpen={(path) => onOpen({ file: path })} />
      <ReviewBar sandboxId={sandboxId} reason={reason} head={view.lastSeq} />
    </div>
  );
}
