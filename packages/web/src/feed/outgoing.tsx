/** Messages that the log does not show yet: docked above the box, so that they are seen wherever the feed stands. */
import { Hand, RotateCw, Trash2, User } from "lucide-react";
import { dropOutgoing, resend, type Outgoing } from "../data/outbox.ts";
import { Button } from "../ui/button.tsx";
import { StageBadge } from "./delivery.tsx";

export function OutgoingMessages({ messages }: { readonly messages: readonly Outgoing[] }) {
  if (messages.length === 0) return null;
  return (
    <ul
      aria-label="Messages on their way"
      className="flex max-h-56 flex-col gap-2 overflow-y-auto border-t border-line px-3 py-2 md:px-5"
    >
      {messages.map((message) => (
        <OutgoingMessage key={message.key} message={message} />
      ))}
    </ul>
  );
}

function OutgoingMessage({ message }: { readonly message: Outgoing }) {
  const isFailed = message.status === "failed";
  const Icon = message.messageType === "interrupt" ? Hand : User;
  return (
    <li
      className="animate-enter rounded-xl border border-dashed border-line-strong bg-raised px-3.5 py-2"
      data-outgoing={message.status}
    >
      <div className="flex items-start gap-3">
        <Icon size={14} aria-hidden className="mt-1 shrink-0 text-ink-3" />
        <p className="min-w-0 flex-1 text-sm break-words whitespace-pre-wrap">{message.text}</p>
        {isFailed ? (
          <span className="text-xs font-semibold text-fail-ink">not sent</span>
        ) : (
          <StageBadge stage={message.status === "queued" ? "queued" : "sending"} />
        )}
      </div>
      {isFailed && (
        <div className="mt-1.5 flex flex-wrap items-center gap-2" role="alert">
          <span className="min-w-0 flex-1 text-xs text-fail-ink">{message.error}</span>
          <Button size="small" onClick={() => resend(message.key)}>
            <RotateCw size={12} /> Retry
          </Button>
          <Button size="small" look="ghost" onClick={() => dropOutgoing(message.key)}>
            <Trash2 size={12} /> Discard
          </Button>
        </div>
      )}
    </li>
  );
}
