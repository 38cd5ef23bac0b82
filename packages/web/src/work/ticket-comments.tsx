/** What people and agents say on a ticket, the oldest first, and a place to say more; it can be sent to its agents as well. */
import type { TicketComment } from "@drover/contract";
import { useInfiniteQuery, useMutation } from "@tanstack/react-query";
import { Bot, UserRound } from "lucide-react";
import { useState, type FormEvent } from "react";
import { client } from "../data/client.ts";
import { formatDay, plural } from "../data/format.ts";
import { queryClient } from "../data/queries.ts";
import { Markdown } from "../feed/markdown.tsx";
import { Button } from "../ui/button.tsx";
import { Check } from "../ui/check.tsx";
import { notify } from "../ui/notify.ts";
import { Problem } from "../ui/problem.tsx";
import { TextArea } from "../ui/select.tsx";
import { Panel } from "./page-frame.tsx";

const SHOWN = 50;

interface TicketCommentsProps {
  readonly ticketId: string;
  readonly mayOperate: boolean;
}

export function TicketComments({ ticketId, mayOperate }: TicketCommentsProps) {
  const list = useInfiniteQuery({
    queryKey: ["work", "comments", ticketId],
    queryFn: ({ pageParam: cursor, signal }) =>
      client.listTicketComments({ params: { ticket_id: ticketId }, query: { limit: SHOWN, cursor } }, { signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });
  const comments = list.data?.pages.flatMap(({ items }) => items).toReversed() ?? [];
  return (
    <Panel title="Comments">
      {list.isError ? (
        <div className="p-4">
          <Problem error={list.error} what="The comments could not be read" onRetry={() => void list.refetch()} />
        </div>
      ) : (
        list.data !== undefined &&
        comments.length === 0 && <p className="px-4 py-3 text-xs text-ink-3">Nothing was said yet.</p>
      )}
      {list.isPending && <div className="skeleton m-4 h-10" role="status" aria-label="Loading comments" />}
      {list.hasNextPage && (
        <div className="border-b border-line px-4 py-2">
          <Button size="small" disabled={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
            Earlier comments
          </Button>
        </div>
      )}
      <ul className="divide-y divide-line" aria-label="Comments on this ticket">
        {comments.map((comment) => (
          <Comment key={comment.id} comment={comment} />
        ))}
      </ul>
      {mayOperate && <Say ticketId={ticketId} />}
    </Panel>
  );
}

function Comment({ comment }: { readonly comment: TicketComment }) {
  const isAgent = comment.author_type === "agent";
  const Icon = isAgent ? Bot : UserRound;
  return (
    <li className="flex flex-col gap-1 px-4 py-3" data-comment={comment.id}>
      <p className="flex flex-wrap items-center gap-x-2 text-xs text-ink-3">
        <Icon size={13} aria-hidden />
        <span className="font-medium text-ink-2">{comment.author_name}</span>
        <span>{isAgent ? "an agent" : "a person"}</span>
        {comment.comment_type !== "general" && (
          <span className={comment.comment_type === "resolution" ? "text-done-ink" : "text-wait-ink"}>
            {comment.comment_type}
          </span>
        )}
        <time className="ml-auto" dateTime={comment.created_at}>
          {formatDay(comment.created_at)}
        </time>
      </p>
      <div className="min-w-0 text-sm break-words">
        <Markdown text={comment.comment_text} />
      </div>
    </li>
  );
}

function Say({ ticketId }: { readonly ticketId: string }) {
  const [text, setText] = useState("");
  const [isTold, setTold] = useState(false);
  const said = text.trim();
  // Apart from the comment, which stands whether anybody is told or not: it is not to be said twice.
  const tell = useMutation({
    mutationFn: (content: string) => client.broadcastMessage({ body: { content, ticket_id: ticketId } }),
    onSuccess: ({ recipient_count: count }) =>
      count === 0
        ? notify.bad("Nobody was told: no agent is at work on this ticket.")
        : notify.good(`Sent to ${plural(count, "agent")}.`),
    onError: (error) => notify.bad(`Said, but no agent was told: ${error.message}`),
  });
  const say = useMutation({
    mutationFn: () => client.addTicketComment({ params: { ticket_id: ticketId }, body: { comment_text: said } }),
    onSuccess: () => {
      setText("");
      setTold(false);
      if (isTold) tell.mutate(said);
    },
    onError: (error) => notify.bad(`Not said: ${error.message}`),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ["work", "comments", ticketId] }),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (said !== "") say.mutate();
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-2 border-t border-line bg-sunken px-4 py-3">
      <TextArea
        label="Say something"
        rows={2}
        value={text}
        maxLength={10_000}
        onChange={(event) => setText(event.target.value)}
      />
      <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2">
        <Check label="Also tell the agents at work on it" isOn={isTold} onChange={setTold} />
        <Button type="submit" size="small" look="live" disabled={said === "" || say.isPending}>
          Comment
        </Button>
      </div>
    </form>
  );
}
