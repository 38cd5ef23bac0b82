/** The queue of what waits for a person, with the answer beside it where one click is enough. */
import type { Permission, PermissionAnswer, Sandbox } from "@drover/contract";
import { toCommand } from "@drover/contract/views";
import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import {
  Check,
  Coins,
  Hand,
  MessageCircleQuestion,
  ShieldAlert,
  ShieldQuestion,
  X,
  type LucideIcon,
} from "lucide-react";
import { useRef, type ReactNode } from "react";
import { client } from "../data/client.ts";
import { formatAge, formatCost } from "../data/format.ts";
import { useNow } from "../data/now.ts";
import { queryClient } from "../data/queries.ts";
import { toTitle } from "../data/sandbox-title.ts";
import { useKeys } from "../app/keys.ts";
import { Button } from "../ui/button.tsx";
import { Kbd } from "../ui/kbd.tsx";
import { notify } from "../ui/notify.ts";
import { openRequestsQuery, type Need } from "./needs.ts";

interface NeedsYouProps {
  readonly needs: readonly Need[];
  readonly mayOperate: boolean;
  /** Absent where there is no place to write beside the queue. */
  readonly onReply?: ((sandboxId: string) => void) | undefined;
}

/** The one that has the focus; of none, the first. */
const findNeed = (list: HTMLElement | null): HTMLElement | null | undefined =>
  document.activeElement?.closest<HTMLElement>("[data-need]") ?? list?.querySelector<HTMLElement>("[data-need]");

export function NeedsYou({ needs, mayOperate, onReply }: NeedsYouProps) {
  const list = useRef<HTMLUListElement>(null);
  const press = (name: "reply" | "open") =>
    findNeed(list.current)?.querySelector<HTMLElement>(`[data-${name}]`)?.click();
  useKeys({ reply: () => press("reply"), openNeed: () => press("open") });
  if (needs.length === 0) return null;
  return (
    <section aria-label="Needs you">
      <h2 className="mb-2 flex items-center gap-2 text-sm font-semibold tracking-tight">
        Needs you
        <span className="rounded-full bg-wait-soft px-2 text-xs font-semibold text-wait-ink tabular-nums">
          {needs.length}
        </span>
      </h2>
      <ul ref={list} className="divide-y divide-line overflow-hidden rounded-2xl border border-wait/60 bg-surface">
        {needs.map((need) => (
          <NeedLine key={need.key} need={need} mayOperate={mayOperate} onReply={onReply} />
        ))}
      </ul>
    </section>
  );
}

/** Questions stand in the input of the tool that the agent asks with. */
function toQuestion({ input, tool }: Permission): string {
  const command = toCommand(input);
  if (command !== "") return `$ ${command}`;
  const own = input["question"];
  if (typeof own === "string") return own;
  const questions: unknown = input["questions"];
  const [first] = Array.isArray(questions) ? (questions as readonly { readonly question?: unknown }[]) : [];
  return typeof first?.question === "string" ? first.question : tool;
}

interface NeedLineProps extends Omit<NeedsYouProps, "needs"> {
  readonly need: Need;
}

function NeedLine({ need, mayOperate, onReply }: NeedLineProps) {
  const reply = mayOperate && onReply !== undefined && need.kind !== "approval" && (
    <Reply onReply={() => onReply(need.sandbox.id)} />
  );
  switch (need.kind) {
    case "permission":
      return (
        <Line
          icon={need.request.kind === "question" ? MessageCircleQuestion : ShieldQuestion}
          title={<SandboxTitle sandbox={need.sandbox} />}
          what={`${need.request.kind === "question" ? "asks" : `wants to use ${need.request.tool}`}: ${toQuestion(need.request)}`}
          since={need.since}
        >
          {mayOperate && need.request.kind === "tool" && <Decide request={need.request} />}
          {reply}
          <Open sandboxId={need.sandbox.id} />
        </Line>
      );
    case "budget":
      return (
        <Line
          icon={Coins}
          title={<SandboxTitle sandbox={need.sandbox} />}
          what={`stopped at its budget, ${formatCost(need.sandbox.cost_usd ?? 0)} spent: raise it to let it go on`}
          since={need.since}
        >
          <Link to="/costs" className="text-xs font-medium text-live-ink underline underline-offset-2">
            Budgets
          </Link>
          {reply}
          <Open sandboxId={need.sandbox.id} />
        </Line>
      );
    case "guardian":
      return (
        <Line
          icon={ShieldAlert}
          title={<SandboxTitle sandbox={need.sandbox} />}
          what={`the guardian asks you to look: ${need.intervention.reason}`}
          since={need.since}
        >
          {reply}
          <Link
            data-open
            to="/sandboxes/$sandboxId"
            params={{ sandboxId: need.sandbox.id }}
            search={need.intervention.seqs.length === 0 ? {} : { seq: need.intervention.seqs.at(-1) ?? 1 }}
            className="text-xs font-medium text-live-ink underline underline-offset-2"
          >
            Review
          </Link>
        </Line>
      );
    case "approval":
      return (
        <Line
          icon={Hand}
          title={
            <Link
              to="/tasks/tickets/$ticketId"
              params={{ ticketId: need.ticket.id }}
              className="rounded hover:underline"
            >
              {need.ticket.title}
            </Link>
          }
          what="waits for your approval"
          since={need.since}
        >
          <Link
            data-open
            to="/tasks/tickets/$ticketId"
            params={{ ticketId: need.ticket.id }}
            className="text-xs font-medium text-live-ink underline underline-offset-2"
          >
            Review
          </Link>
        </Line>
      );
  }
}

const SandboxTitle = ({ sandbox }: { readonly sandbox: Sandbox }) => (
  <Link to="/sandboxes/$sandboxId" params={{ sandboxId: sandbox.id }} className="rounded hover:underline">
    {toTitle(sandbox)}
  </Link>
);

interface LineProps {
  readonly icon: LucideIcon;
  readonly title: ReactNode;
  readonly what: string;
  readonly since: string;
  readonly children: ReactNode;
}

function Line({ icon: Icon, title, what, since, children }: LineProps) {
  const now = useNow();
  return (
    <li data-need className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-2.5">
      <Icon size={16} aria-hidden className="shrink-0 text-wait-ink" />
      <div className="min-w-0 flex-1 basis-60">
        <p className="truncate text-sm font-medium">{title}</p>
        <p className="line-clamp-2 text-xs break-words text-ink-2">{what}</p>
      </div>
      <time dateTime={since} className="text-xs text-ink-3 tabular-nums">
        {formatAge(now - Date.parse(since))}
      </time>
      <div className="flex items-center gap-2">{children}</div>
    </li>
  );
}

const Open = ({ sandboxId }: { readonly sandboxId: string }) => (
  <Link
    data-open
    to="/sandboxes/$sandboxId"
    params={{ sandboxId }}
    className="inline-flex h-7 items-center gap-1.5 rounded-md border border-line-strong bg-raised px-2.5 text-xs font-medium hover:bg-hover max-md:h-10"
  >
    Open <Kbd action="openNeed" />
  </Link>
);

const Reply = ({ onReply }: { readonly onReply: () => void }) => (
  <Button data-reply size="small" className="max-md:h-10" onClick={onReply}>
    Reply <Kbd action="reply" />
  </Button>
);

/** The answer for this once; whoever wants more opens the run. */
const toAnswer = ({ options }: Permission, decision: "allow" | "deny"): PermissionAnswer => {
  const option = options.find(({ kind }) => kind === (decision === "allow" ? "allow_once" : "reject_once"));
  return { decision, ...(option === undefined ? {} : { option_id: option.id }) };
};

function Decide({ request }: { readonly request: Permission }) {
  const answer = useMutation({
    mutationFn: (decision: "allow" | "deny") =>
      client.answerPermission({
        params: { sandbox_id: request.sandbox_id, request_id: request.request_id },
        body: toAnswer(request, decision),
      }),
    onError: (error) => notify.bad(`Not answered: ${error.message}`),
    onSettled: () => queryClient.invalidateQueries({ queryKey: openRequestsQuery(request.sandbox_id).queryKey }),
  });
  return (
    <>
      <Button
        size="small"
        look="live"
        className="max-md:h-10"
        disabled={answer.isPending}
        onClick={() => answer.mutate("allow")}
      >
        <Check size={13} /> Allow
      </Button>
      <Button size="small" className="max-md:h-10" disabled={answer.isPending} onClick={() => answer.mutate("deny")}>
        <X size={13} /> Refuse
      </Button>
    </>
  );
}
