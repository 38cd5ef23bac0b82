/** Every message of a run with how far it came. */
import type { FeedView, PersonRow } from "@drover/contract/views";
import { useQuery } from "@tanstack/react-query";
import { formatClock, plural } from "../data/format.ts";
import { messagesQuery } from "../data/queries.ts";
import { Delivery } from "./delivery.tsx";

const NAMES: Readonly<Record<PersonRow["messageType"], string>> = {
  user_message: "Message",
  interrupt: "Interrupt",
  guardian_nudge: "Guardian",
  system: "System",
};

const isMessage = (row: FeedView["rows"][number]): row is PersonRow => row.kind === "person" && row.messageId !== null;

interface MessageListProps {
  readonly sandboxId: string;
  readonly view: FeedView;
  /** Told the row that was chosen. */
  readonly onOpen: (seq: number) => void;
}

export function MessageList({ sandboxId, view, onOpen }: MessageListProps) {
  const rows = view.rows.filter(isMessage);
  // Events quote the beginning of a long message; its record has all of it.
  const records = useQuery({ ...messagesQuery(sandboxId), enabled: rows.some((row) => row.isCut) });
  const textOf = new Map(records.data?.items.map((record) => [record.id as string, record.content]));
  if (rows.length === 0)
    return (
      <div className="grid min-h-0 flex-1 place-items-center p-6 text-sm text-ink-3">
        Nobody has sent this agent a message.
      </div>
    );
  const isUnder = (row: PersonRow) => !["seen", "failed", "expired"].includes(row.steps.at(-1)?.state ?? "");
  const waiting = rows.filter(isUnder).length;
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <p className="border-b border-line px-4 py-2 text-2xs text-ink-3 tabular-nums">
        {plural(rows.length, "message")}
        {waiting > 0 && ` · ${waiting} on the way`}
      </p>
      <ul aria-label="Messages" tabIndex={0} className="min-h-0 flex-1 divide-y divide-line overflow-y-auto">
        {rows.map((row) => (
          <li key={row.seq} className="flex flex-col gap-1 px-4 py-2.5" data-message={row.messageId}>
            <div className="flex flex-wrap items-center justify-between gap-x-4 text-xs">
              <button
                type="button"
                onClick={() => onOpen(row.seq)}
                className="rounded font-semibold text-ink-2 underline-offset-2 hover:underline"
              >
                {NAMES[row.messageType]} · {formatClock(row.at)}
              </button>
              <Delivery steps={row.steps} detail={row.detail} isInterrupt={row.messageType === "interrupt"} />
            </div>
            <p className="line-clamp-6 text-sm break-words whitespace-pre-wrap">
              {(row.isCut && row.messageId !== null ? textOf.get(row.messageId) : undefined) ?? row.text}
            </p>
          </li>
        ))}
      </ul>
    </div>
  );
}
