/** Rows of what was said: by the agent, in its thoughts, by people. */
import type { MessageRow, PersonRow } from "@drover/contract/views";
import { useQuery } from "@tanstack/react-query";
import { Brain, Hand, MessageSquareText, ShieldQuestion, User } from "lucide-react";
import { useState } from "react";
import { formatCount } from "../../data/format.ts";
import { messagesQuery } from "../../data/queries.ts";
import { Boundary } from "../../ui/boundary.tsx";
import { Button } from "../../ui/button.tsx";
import { Delivery } from "../delivery.tsx";
import { Markdown, MARKDOWN_LIMIT } from "../markdown.tsx";
import { RowFrame, RowToggle } from "../row-frame.tsx";
import { useOpen, useRunContext } from "../run-context.tsx";

export function AgentMessage({ row }: { readonly row: MessageRow }) {
  return (
    <RowFrame row={row} icon={MessageSquareText} tone="text-ink-2">
      <div className="pt-0.5">
        <LongText text={row.text} />
      </div>
    </RowFrame>
  );
}

/** Hostile nesting may exhaust the parser: then the text is shown as it is. */
function LongText({ text }: { readonly text: string }) {
  const [isWhole, setWhole] = useState(false);
  return (
    <Boundary
      fallback={() => (
        <pre className="font-mono text-xs break-words whitespace-pre-wrap">{text.slice(0, MARKDOWN_LIMIT)}</pre>
      )}
    >
      {isWhole ? (
        <pre className="font-mono text-xs break-words whitespace-pre-wrap">{text}</pre>
      ) : (
        <Markdown text={text} />
      )}
      {text.length > MARKDOWN_LIMIT && !isWhole && (
        <Button size="small" className="mt-2" onClick={() => setWhole(true)}>
          Show all {formatCount(text.length)} characters
        </Button>
      )}
    </Boundary>
  );
}

const firstLine = (text: string) => text.trim().split("\n", 1)[0] ?? "";

export function Thinking({ row }: { readonly row: MessageRow }) {
  const [isOpen, toggle] = useOpen(row.seq);
  return (
    <RowFrame row={row} icon={Brain} tone="text-mind" isQuiet>
      <RowToggle isOpen={isOpen} onToggle={toggle}>
        <span className="shrink-0 text-ink-2 italic">Thought</span>
        {!isOpen && <span className="truncate text-ink-3">{firstLine(row.text)}</span>}
      </RowToggle>
      {isOpen && (
        <div className="mt-1 border-l-2 border-mind/40 pl-3 text-ink-2">
          <LongText text={row.text} />
        </div>
      )}
    </RowFrame>
  );
}

const WHO = {
  user_message: { name: "You", icon: User, tone: "text-live-ink" },
  interrupt: { name: "You interrupted", icon: Hand, tone: "text-wait-ink" },
  guardian_nudge: { name: "Guardian", icon: ShieldQuestion, tone: "text-mind" },
  system: { name: "System", icon: ShieldQuestion, tone: "text-ink-2" },
} as const;

export function Person({ row }: { readonly row: PersonRow }) {
  const { sandboxId } = useRunContext();
  const records = useQuery({ ...messagesQuery(sandboxId), enabled: row.isCut });
  const text =
    (row.isCut ? records.data?.items.find((record) => record.id === row.messageId)?.content : undefined) ?? row.text;
  const who = WHO[row.messageType];
  return (
    <RowFrame row={row} icon={who.icon} tone={who.tone}>
      <div
        className="max-w-[46rem] rounded-xl rounded-tl-sm border border-line bg-surface px-3.5 py-2.5 shadow-card"
        data-message={row.messageId ?? ""}
      >
        <div className="flex flex-wrap items-center justify-between gap-x-4">
          <p className="text-xs font-semibold text-ink-2">{who.name}</p>
          {row.messageId !== null && (
            <Delivery steps={row.steps} detail={row.detail} isInterrupt={row.messageType === "interrupt"} />
          )}
        </div>
        <p className="mt-0.5 text-[0.9375rem] leading-relaxed break-words whitespace-pre-wrap">{text}</p>
      </div>
    </RowFrame>
  );
}
