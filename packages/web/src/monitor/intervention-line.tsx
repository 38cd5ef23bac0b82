/** What the guardian did about a run: how far it went, why, the events it saw, and what came of it. */
import type { Intervention, MessageRecord } from "@drover/contract";
import { Link } from "@tanstack/react-router";
import { MessageCircleReply } from "lucide-react";
import { formatAge, formatClock, formatDay } from "../data/format.ts";
import { useNow } from "../data/now.ts";
import { Evidence, SandboxName, type Titles } from "./evidence.tsx";
import { OutcomeWord, RungBadge, toWords } from "./words.tsx";

interface InterventionLineProps {
  readonly intervention: Intervention;
  readonly titles: Titles;
  /** What was said to the agent; its way is shown when it is given. */
  readonly message?: MessageRecord | undefined;
}

export function InterventionLine({ intervention, titles, message }: InterventionLineProps) {
  const now = useNow();
  const { sandbox_id: sandboxId, injected_seq: injected } = intervention;
  return (
    <article data-intervention={intervention.id} className="flex flex-col gap-1.5 px-4 py-3">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <RungBadge rung={intervention.rung} />
        <h3 className="min-w-0 flex-1 basis-48 truncate text-sm">
          <SandboxName id={sandboxId} titles={titles} />
        </h3>
        {intervention.rung !== "note" && <OutcomeWord outcome={intervention.outcome} />}
        <time
          className="w-12 text-right text-xs text-ink-3 tabular-nums"
          dateTime={intervention.created_at}
          title={formatDay(intervention.created_at)}
        >
          {formatAge(now - Date.parse(intervention.created_at))}
        </time>
      </div>
      <p className="text-sm break-words text-ink-2">{intervention.reason}</p>
      {message !== undefined && <Way message={message} />}
      <p className="flex flex-wrap items-center gap-x-3 gap-y-1 text-xs text-ink-3">
        {toWords(intervention.signal)}
        <Evidence sandboxId={sandboxId} seqs={intervention.seqs} />
        {injected !== null && (
          <Link
            to="/sandboxes/$sandboxId"
            params={{ sandboxId }}
            search={{ seq: injected }}
            className="inline-flex items-center gap-1 text-live-ink underline underline-offset-2"
          >
            <MessageCircleReply size={13} aria-hidden /> told the agent
          </Link>
        )}
        {intervention.mode === "shadow" && <span>only noted: shadow mode</span>}
      </p>
    </article>
  );
}

/** How far a message came, step by step, each with its time. */
function Way({ message }: { readonly message: MessageRecord }) {
  const isLost = message.state === "failed" || message.state === "expired";
  const steps = [
    { word: "sent", at: message.queued_at },
    { word: "delivered", at: message.delivered_at },
    { word: "seen", at: message.seen_at },
  ];
  return (
    <ol aria-label="How far it came" className="flex flex-wrap gap-x-4 gap-y-1 text-xs text-ink-2">
      {steps.map(({ word, at }) => (
        <li key={word} data-step={word}>
          {at === null ? (
            <span className="text-ink-3">
              not {word}
              {isLost ? "" : " yet"}
            </span>
          ) : (
            <>
              {word}{" "}
              <time dateTime={at} className="tabular-nums">
                {formatClock(at)}
              </time>
            </>
          )}
        </li>
      ))}
      {isLost && (
        <li className="font-medium text-fail-ink">
          {message.state}
          {message.detail !== null && `: ${message.detail}`}
        </li>
      )}
    </ol>
  );
}
