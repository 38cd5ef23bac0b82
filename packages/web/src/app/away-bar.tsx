/** After ten seconds without the server the page says plainly how old it is. */
import { CloudOff } from "lucide-react";
import { useConnection } from "../data/connection.ts";
import { formatAge, formatClock } from "../data/format.ts";
import { useNow } from "../data/now.ts";
import { Button } from "../ui/button.tsx";

const SAID_AFTER_MS = 10_000;

export function AwayBar() {
  const now = useNow();
  const { state, wake } = useConnection();
  if (state.phase !== "reconnecting" && state.phase !== "offline") return null;
  if (now - state.since < SAID_AFTER_MS) return null;
  return (
    <div
      role="status"
      className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line bg-wait-soft px-4 py-1.5 text-xs font-medium text-wait-ink"
    >
      <CloudOff size={14} aria-hidden />
      Showing {formatClock(new Date(state.since).toISOString())} · next try in{" "}
      {formatAge(Math.max(0, state.retryAt - now))}
      <Button size="small" onClick={wake} className="ml-auto">
        Retry now
      </Button>
    </div>
  );
}
