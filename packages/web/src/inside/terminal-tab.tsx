/** Terminals of a sandbox: one of your own, live, and the recordings of those before. */
import { TERMINAL_SANDBOX_STATES, type Recording, type Sandbox } from "@drover/contract";
import { useQuery } from "@tanstack/react-query";
import { CirclePlay, SquareTerminal } from "lucide-react";
import { useState, type ReactNode } from "react";
import { formatAge, formatSpan } from "../data/format.ts";
import { useNow } from "../data/now.ts";
import { Button } from "../ui/button.tsx";
import { cx } from "../ui/class-names.ts";
import { Problem } from "../ui/problem.tsx";
import { CastPlayer } from "./cast-player.tsx";
import { LiveTerminal } from "./live-terminal.tsx";
import { recordingsQuery } from "./queries.ts";

interface TerminalTabProps {
  readonly sandbox: Sandbox;
  readonly mayOperate: boolean;
  readonly cast: string | undefined;
  readonly onCast: (artifactId: string | undefined) => void;
}

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

export function TerminalTab({ sandbox, mayOperate, cast, onCast }: TerminalTabProps) {
  const recordings = useQuery(recordingsQuery(sandbox.id));
  const [isOpen, setOpen] = useState(false);
  const reason = toReason(sandbox, mayOperate);
  const items = recordings.data?.items ?? [];
  const played = items.find((recording) => recording.artifact_id === cast);
  return (
    <div className="flex min-h-0 flex-1 max-md:flex-col">
      <div className="flex min-h-0 min-w-0 flex-1 flex-col p-3 md:p-4">
        {played !== undefined ? (
          <CastPlayer key={played.artifact_id} sandboxId={sandbox.id} recording={played} />
        ) : isOpen ? (
          <LiveTerminal sandboxId={sandbox.id} onEnd={() => setOpen(false)} />
        ) : (
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
      <aside
        aria-label="Terminals"
        tabIndex={0}
        className="shrink-0 overflow-y-auto border-line max-md:max-h-40 max-md:border-t md:w-64 md:border-l"
      >
        <ul className="flex flex-col py-1.5">
          <li>
            <Entry isHere={played === undefined} onClick={() => onCast(undefined)}>
              <SquareTerminal size={14} className="shrink-0" aria-hidden />
              <span className="flex-1">{isOpen ? "Your terminal" : "New terminal"}</span>
              {isOpen && <span className="text-2xs text-live-ink">open</span>}
            </Entry>
          </li>
          {items.map((recording) => (
            <li key={recording.event_id}>
              <Entry isHere={recording === played} onClick={() => onCast(recording.artifact_id)}>
                <CirclePlay size={14} className="shrink-0" aria-hidden />
                <Recorded recording={recording} />
              </Entry>
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
      </aside>
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

function Entry({
  isHere,
  onClick,
  children,
}: {
  readonly isHere: boolean;
  readonly onClick: () => void;
  readonly children: ReactNode;
}) {
  return (
    <button
      type="button"
      aria-current={isHere ? "true" : undefined}
      onClick={onClick}
      className={cx(
        "flex min-h-9 w-full items-center gap-2 px-4 text-left text-xs focus-visible:-outline-offset-2 max-md:min-h-11",
        isHere ? "bg-live-soft font-medium text-live-ink" : "text-ink-2 hover:bg-hover",
      )}
    >
      {children}
    </button>
  );
}
