/** While the page follows one run: the few events of the others that a person must hear of. */
import type { EventFrame } from "@drover/contract";
import { readText } from "@drover/contract/views";
import { client } from "./client.ts";
import { tellDesktop } from "./desktop-notices.ts";
import { queryClient } from "./queries.ts";
import { readAgainAfter } from "./stale-queries.ts";

const WATCHED = [
  "SANDBOX_agent.permission_requested",
  "SANDBOX_agent.permission_answered",
  "SANDBOX_PERMISSION_ANSWER_QUEUED",
  "SANDBOX_STATE_CHANGED",
  "TICKET_APPROVAL_REQUESTED",
  "TICKET_APPROVED",
  "TICKET_REJECTED",
  "alert.fired",
];
/** Lists are read again at most this often. */
const READ_EVERY_MS = 2_000;

const toType = (frame: EventFrame): string => readText(frame.payload, "original_event_type") ?? frame.event_type;

export function startWatch(): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const readLists = () => {
    timer = undefined;
    void queryClient.invalidateQueries({ queryKey: ["sandboxes"] });
    void queryClient.invalidateQueries({ queryKey: ["work", "to-review"] });
  };
  const stream = client.openStream({
    filter: { event_types: WATCHED },
    onBatch: (frames) => {
      for (const frame of frames) readAgainAfter(frame.entity_id, [{ event_type: toType(frame) }]);
      timer ??= setTimeout(readLists, READ_EVERY_MS);
      tellDesktop(frames);
    },
  });
  return () => {
    clearTimeout(timer);
    stream.close();
  };
}
