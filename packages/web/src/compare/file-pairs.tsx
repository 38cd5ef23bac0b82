/** Two runs file by file: in which turns each changed it, and whether both left the same. */
import type { FilePair, FileTouch } from "@drover/contract/views";
import { Link } from "@tanstack/react-router";
import { GitCompareArrows } from "lucide-react";
import { formatCount } from "../data/format.ts";
import { Button } from "../ui/button.tsx";
import { cx } from "../ui/class-names.ts";

interface FilePairsProps {
  readonly a: string;
  readonly b: string;
  readonly pairs: readonly FilePair[];
  /** Files whose contents differ in the end; undefined where they were not kept. */
  readonly differing: readonly string[] | undefined;
  readonly onFile: (path: string) => void;
}

export function FilePairs({ a, b, pairs, differing, onFile }: FilePairsProps) {
  if (pairs.length === 0)
    return <p className="grid min-h-0 flex-1 place-items-center p-6 text-sm text-ink-3">Neither run changed a file.</p>;
  return (
    <div
      role="table"
      aria-label="Files of both runs"
      tabIndex={0}
      className="min-h-0 flex-1 overflow-y-auto focus-visible:-outline-offset-2"
    >
      {pairs.map((pair) => {
        const isDifferent = differing?.includes(pair.path);
        return (
          <div key={pair.path} role="row" data-file={pair.path} className="border-b border-line">
            <div role="cell" className="flex flex-wrap items-center gap-x-3 gap-y-1 px-3 pt-2 md:px-5">
              <span className="min-w-0 truncate font-mono text-xs font-medium">{pair.path}</span>
              {isDifferent === true && (
                <Button size="small" className="max-md:h-9" onClick={() => onFile(pair.path)}>
                  <GitCompareArrows size={13} /> A to B
                </Button>
              )}
              {isDifferent === false && <span className="text-2xs text-ink-3">the same in the end</span>}
            </div>
            <div className="grid grid-cols-2 pb-2">
              <Touches id={a} touches={pair.a} />
              <Touches id={b} touches={pair.b} isRight />
            </div>
          </div>
        );
      })}
    </div>
  );
}

interface TouchesProps {
  readonly id: string;
  readonly touches: readonly FileTouch[];
  readonly isRight?: boolean;
}

function Touches({ id, touches, isRight = false }: TouchesProps) {
  return (
    <div role="cell" className={cx("min-w-0 px-3 md:px-5", isRight && "border-l border-line")}>
      {touches.length === 0 && <p className="text-xs text-ink-3">not touched</p>}
      <ul className="flex flex-col gap-0.5 text-xs tabular-nums">
        {touches.map(({ turn, seq, added, removed }) => (
          <li key={turn} className="flex flex-wrap gap-x-3">
            <Link
              to="/sandboxes/$sandboxId"
              params={{ sandboxId: id }}
              search={{ e: seq }}
              className="font-semibold text-ink-2 underline-offset-2 hover:underline"
            >
              Turn {turn}
            </Link>
            <span>
              <span className="text-live-ink">+{formatCount(added)}</span>{" "}
              <span className="text-fail-ink">−{formatCount(removed)}</span>
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}
