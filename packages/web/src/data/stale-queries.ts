/** Which of a sandbox's queries an event makes stale. */
import { queryClient } from "./queries.ts";

const STALE_AFTER: Readonly<Record<string, string>> = {
  "agent.permission_requested": "permissions",
  "agent.permission_answered": "permissions",
  PERMISSION_ANSWER_QUEUED: "permissions",
  "terminal.recorded": "recordings",
};

export function readAgainAfter(sandboxId: string, events: readonly { readonly event_type: string }[]): void {
  const stale = new Set(events.flatMap((event) => STALE_AFTER[event.event_type] ?? []));
  for (const key of stale) void queryClient.invalidateQueries({ queryKey: [key, sandboxId] });
}
