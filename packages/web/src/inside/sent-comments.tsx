/** What came of the comments that were sent: each with the change that touched its line since, or none. */
import { findAnswer, type EditRow, type FeedView } from "@drover/contract/views";
import { ChevronRight, CircleCheck, CircleDashed, X } from "lucide-react";
import { useMemo } from "react";
import { formatCount } from "../data/format.ts";
import { Button } from "../ui/button.tsx";
import { forgetSent, useSent } from "./review.ts";

interface SentCommentsProps {
  readonly sandboxId: string;
  readonly rows: FeedView["rows"];
  readonly onOpen: (path: string) => void;
}

const isEdit = (row: FeedView["rows"][number]): row is EditRow => row.kind === "edit";

export function SentComments({ sandboxId, rows, onOpen }: SentCommentsProps) {
  const sent = useSent(sandboxId);
  const told = useMemo(() => {
    if (sent.length === 0) return [];
    const edits = rows.filter(isEdit).flatMap((row) => row.edits.map((edit) => ({ ...edit, row })));
    return sent.map((comment) => ({
      comment,
      answer: findAnswer(
        comment,
        edits.filter(({ row }) => row.seq > comment.seq),
      ),
    }));
  }, [sent, rows]);
  if (told.length === 0) return null;
  const answered = told.filter(({ answer }) => answer !== undefined).length;
  return (
    <details className="group shrink-0 border-t border-line bg-surface" data-testid="sent-comments">
      <summary className="flex min-h-9 cursor-pointer list-none items-center gap-2 px-3 text-xs font-medium md:px-4">
        <ChevronRight size={14} aria-hidden className="text-ink-3 transition-transform group-open:rotate-90" />
        Your comments: {formatCount(answered)} of {formatCount(told.length)} led to a change of their line
      </summary>
      <ul className="max-h-48 overflow-y-auto pb-2" tabIndex={0} aria-label="Comments that were sent">
        {told.map(({ comment, answer }, at) => (
          <li key={at}>
            <button
              type="button"
              onClick={() => onOpen(answer?.path ?? comment.path)}
              className="flex w-full items-center gap-2 px-3 py-1 text-left text-xs hover:bg-hover focus-visible:-outline-offset-2 max-md:min-h-11 md:px-4"
            >
              {answer === undefined ? (
                <CircleDashed size={14} aria-hidden className="shrink-0 text-ink-3" />
              ) : (
                <CircleCheck size={14} aria-hidden className="shrink-0 text-live-ink" />
              )}
              <span className="min-w-0 flex-1 truncate">{comment.note}</span>
              <span className="max-w-1/3 shrink-0 truncate font-mono text-2xs text-ink-3">
                {comment.path}
                {comment.line !== null && `:${comment.line}`}
              </span>
              <span className="w-24 shrink-0 text-right text-2xs text-ink-3">
                {answer === undefined ? "not touched yet" : `turn ${answer.row.turn ?? "?"}`}
              </span>
            </button>
          </li>
        ))}
      </ul>
      <div className="px-3 pb-2 md:px-4">
        <Button size="small" look="ghost" className="-ml-2.5 max-md:h-9" onClick={() => forgetSent(sandboxId)}>
          <X size={13} /> Forget them
        </Button>
      </div>
    </details>
  );
}
