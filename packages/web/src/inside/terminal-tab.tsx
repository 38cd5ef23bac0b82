/** Terminals of a sandbox: one of your own, live, the recordings of those before, and the commands of its agent with what they printed. */
import { TERMINAL_SANDBOX_STATES, type Recording, type Sandbox } from "@drover/contract";
import type { CommandRow, FeedRow } from "@drover/contract/views";
import { useQuery } from "@tanstack/react-query";
import { CirclePlay, SquareTerminal } from "lucide-react";
import { useMemo, useState } from "react";
import { formatAge, formatSpan } from "../data/format.ts";
import { useNow } from "../data/now.ts";
import { Button } from "../ui/button.tsx";
import { cx } from "../ui/class-names.ts";
import { Problem } from "../ui/problem.tsx";
import { CastPlayer } from "./cast-player.tsx";
import { CommandList } from "./command-list.tsx";
import { CommandOutput } from "./command-output.tsx";
import { LiveTerminal } from "./live-terminal.tsx";
import { recordingsQuery } from "./queries.ts";
import { TerminalEntry } from "./terminal-entry.tsx";

interface TerminalTabProps {
  readonly sandbox: Sandbox;
  readonly mayOperate: boolean;
  readonly rows: readonly FeedRow[];
  readonly cast: string | undefined;
  /** sandbox_seq of the agent's command that is shown. */
  readonly command: number | undefined;
  readonly onOpen: (shown: { readonly cast?: string | undefined; readonly command?: number | undefined }) => void;
}

const isCommand = (row: FeedRow): row is CommandRow => row.kind === "command";

/** Why nobody can type; undefined when somebody can. */
function toReason(sandbox: Sandbox, mayOperate: boolean): string | undefined {
  if (!mayOperate) return "Your role may watch this sandbox, but not type in it.";
  if (sandbox.provider === "external") return "Drover did not make this sandbox, so it has no way into it.";
  if (TERMINAL_SANDBOX_STATES.has(sandbox.state))
    return `The sandbox is ${sandbox.state}: there is nothing left to type into.`;
  if (sandbox.state === "paused") return "The sandbox is paused. Let it go on to open a terminal.";
  if (sandbox.state === "pending" || sandbox.state === "creating") return "The sandbox is being made.";
  return undefined;
}

export function TerminalTab({ sandbox, mayOperate, rows, cast, command, onOpen }: TerminalTabProps) {
  const recordings = useQuery(recordingsQuery(sandbox.id));
  const [isOpen, setOpen] = useState(false);
  const reason = toReason(sandbox, mayOperate);
  const items = recordings.data?.items ?? [];
  const played = items.find((recording) => recording.artifact_id === cast);
  const commands = useMemo(() => rows.filter(isCommand), [rows]);
  const printed = played === undefined ? commands.find(({ seq }) => seq === command) : undefined;
  const isElsewhere = played !== undefined || printed !== undefined;
  return (
    <div className="flex min-h-0 flex-1 max-md:flex-col max-md:overflow-y-auto">
      <aside
        aria-label="Terminals"
        tabIndex={0}
        className="shrink-0 overflow-y-auto border-line max-md:max-h-44 max-md:border-b md:w-72 md:border-r"
      >
        <ul className="flex flex-col py-1.5">
          <li>
            <TerminalEntry isHere={!isElsewhere} onClick={() => onOpen({})}>
              <SquareTerminal size={14} className="shrink-0" aria-hidden />
              <span className="flex-1">{isOpen ? "Your terminal" : "New terminal"}</span>
              {isOpen && <span className="text-2xs text-live-ink">open</span>}
            </TerminalEntry>
          </li>
          {items.map((recording) => (
            <li key={recording.event_id}>
              <TerminalEntry isHere={recording === played} onClick={() => onOpen({ cast: recording.artifact_id })}>
                <CirclePlay size={14} className="shrink-0" aria-hidden />
                <Recorded recording={recording} />
              </TerminalEntry>
            </li>
          ))}
        </ul>
        {recordings.isSuccess && items.length === 0 && (
          <p className="px-4 py-2 text-xs text-ink-3">No terminal was recorded yet.</p>
        )}
        {recordings.isError && (
          <div className="p-3">
            <Problem
              error={recordings.error}
              what="The recordings could not be read"
              onRetry={() => void recordings.refetch()}
            />
          </div>
        )}
        <CommandList commands={commands} shown={printed?.seq} onOpen={(seq) => onOpen({ command: seq })} />
      </aside>
      <div className="flex min-h-0 min-w-0 flex-1 flex-col p-3 max-md:min-h-96 md:p-4">
        {played !== undefined && <CastPlayer key={played.artifact_id} sandboxId={sandbox.id} recording={played} />}
        {printed !== undefined && <CommandOutput key={printed.seq} sandboxId={sandbox.id} row={printed} />}
        {isOpen && (
          // A shell that is open stays open while something else is looked at.
          <div className={cx("flex min-h-0 flex-1 flex-col", isElsewhere && "hidden")}>
            <LiveTerminal sandboxId={sandbox.id} onEnd={() => setOpen(false)} />
          </div>
        )}
        {!isOpen && !isElsewhere && (
          <div className="grid min-h-0 flex-1 place-items-center text-center">
            <div className="flex max-w-sm flex-col items-center gap-3">
              <SquareTerminal size={28} className="text-ink-3" aria-hidden />
              <p className="text-sm text-ink-2 text-pretty">
                {reason ?? "A shell in this sandbox, beside the agent. What it prints is recorded."}
              </p>
              {reason === undefined && (
                <Button look="solid" onClick={() => setOpen(true)}>
                  Open a terminal
                </Button>
              )}
            </div>
          </div>
        )}
      </div>
    </div>
  );
}

function Recorded({ recording }: { readonly recording: Recording }) {
  const now = useNow();
  return (
    <>
      <span className="min-w-0 flex-1 truncate">{recording.opened_by ?? "somebody"}</span>
      <span className="shrink-0 text-2xs text-ink-3 tabular-nums">
        {formatSpan(recording.duration_ms)} · {formatAge(now - Date.parse(recording.recorded_at))} ago
      </span>
    </>
  );
}
