/** The comments of a review, and the button that sends them all as the next message. */
import { Send, Trash2 } from "lucide-react";
import { sendMessage } from "../data/outbox.ts";
import { plural } from "../data/format.ts";
import { Button } from "../ui/button.tsx";
import { inputLook } from "../ui/field.tsx";
import { notify } from "../ui/notify.ts";
import { clearReview, dropComment, keepSent, putBack, toReviewMessage, useReview, writeComment } from "./review.ts";

interface ReviewBarProps {
  readonly sandboxId: string;
  /** Why nothing can be sent; undefined when it can. */
  readonly reason: string | undefined;
  /** sandbox_seq of the newest event. */
  readonly head: number;
}

export function ReviewBar({ sandboxId, reason, head }: ReviewBarProps) {
  const comments = useReview(sandboxId);
  if (comments.length === 0) return null;
  const isWritten = comments.every(({ note }) => note.trim() !== "");
  const send = () => {
    sendMessage({
      sandboxId,
      text: toReviewMessage(comments),
      messageType: "user_message",
      delivery: "steer",
      afterSeq: head,
    });
    keepSent(sandboxId, comments, head);
    clearReview(sandboxId);
    notify.good(`${plural(comments.length, "comment")} sent as one message`);
  };
  return (
    <section
      aria-label="Your comments"
      className="max-h-72 shrink-0 overflow-y-auto border-t border-line bg-surface px-3 py-2 md:px-4"
    >
      <ul className="flex flex-col gap-2">
        {comments.map((comment) => {
          const place = `${comment.path}${comment.line === null ? "" : `:${comment.line}`}`;
          return (
            <li key={comment.id} className="flex items-start gap-2">
              <div className="min-w-0 flex-1">
                <p className="truncate font-mono text-2xs text-ink-3" title={comment.quote}>
                  {place} {comment.quote !== "" && `› ${comment.quote.trim()}`}
                </p>
                <textarea
                  aria-label={`Comment on ${place}`}
                  autoFocus={comment.note === ""}
                  rows={1}
                  value={comment.note}
                  onChange={(event) => writeComment(sandboxId, comment.id, event.target.value)}
                  className={`${inputLook} resize-y py-1.5`}
                />
              </div>
              <Button
                look="ghost"
                size="icon"
                aria-label={`Drop the comment on ${place}`}
                onClick={() => {
                  dropComment(sandboxId, comment.id);
                  if (comment.note.trim() !== "")
                    notify.undoable("The comment is dropped", () => putBack(sandboxId, comment));
                }}
              >
                <Trash2 size={14} />
              </Button>
            </li>
          );
        })}
      </ul>
      <div className="mt-2 flex flex-wrap items-center justify-end gap-3">
        {reason !== undefined && <p className="text-xs text-ink-3">{reason}</p>}
        <Button look="solid" size="small" onClick={send} disabled={reason !== undefined || !isWritten}>
          <Send size={13} /> Send {plural(comments.length, "comment")}
        </Button>
      </div>
    </section>
  );
}
