/** Every command the agent ran, the newest first: how each ended and how long it took. */
import type { CommandRow } from "@drover/contract/views";
import { CircleCheck, CircleX, LoaderCircle } from "lucide-react";
import { formatCount } from "../data/format.ts";
import { CallStatus } from "../feed/rows/tools.tsx";
import { TerminalEntry } from "./terminal-entry.tsx";

const SHOWN = 200;

interface CommandListProps {
  readonly commands: readonly CommandRow[];
  /** sandbox_seq of the one that is shown. */
  readonly shown: number | undefined;
  readonly onOpen: (seq: number) => void;
}

export function CommandList({ commands, shown, onOpen }: CommandListProps) {
  const newest = commands.slice(-SHOWN).toReversed();
  return (
    <section aria-label="Commands of the agent">
      <h2 className="px-4 pt-3 pb-1 text-2xs font-medium text-ink-3">
        Commands of the agent <span className="tabular-nums">{formatCount(commands.length)}</span>
      </h2>
      {commands.length === 0 && <p className="px-4 py-2 text-xs text-ink-3">It has run none yet.</p>}
      <ul className="flex flex-col pb-1.5">
        {newest.map((row) => (
          <li key={row.seq}>
            <TerminalEntry isHere={row.seq === shown} onClick={() => onOpen(row.seq)}>
              <Ended row={row} />
              <span className="min-w-0 flex-1 truncate font-mono">{row.command || "(without its words)"}</span>
              <CallStatus call={row.call} />
            </TerminalEntry>
          </li>
        ))}
      </ul>
      {commands.length > newest.length && (
        <p className="px-4 pb-2 text-2xs text-ink-3">
          The newest {SHOWN} of {formatCount(commands.length)}; the others stand in the activity.
        </p>
      )}
    </section>
  );
}

function Ended({ row: { call } }: { readonly row: CommandRow }) {
  if (call.endedAt === null) return <LoaderCircle size={13} aria-hidden className="shrink-0 animate-spin text-ink-3" />;
  return call.isError ? (
    <CircleX size={13} aria-label="failed" className="shrink-0 text-fail-ink" />
  ) : (
    <CircleCheck size={13} aria-label="ended" className="shrink-0 text-live-ink" />
  );
}
