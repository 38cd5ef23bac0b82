/** Who works here, in which state, and for how long. */
import { TERMINAL_SANDBOX_STATES, type Sandbox } from "@drover/contract";
import { useMutation } from "@tanstack/react-query";
import { CircleStop } from "lucide-react";
import { useState, type ReactNode } from "react";
import { client } from "../data/client.ts";
import { formatCount, formatSpan } from "../data/format.ts";
import { useNow } from "../data/now.ts";
import { queryClient, sandboxQuery } from "../data/queries.ts";
import { toTitle } from "../data/sandbox-title.ts";
import { Button } from "../ui/button.tsx";
import { Confirm } from "../ui/confirm.tsx";
import { Liveness } from "../ui/liveness.tsx";
import { StateBadge } from "../ui/state-badge.tsx";
import { notify } from "../ui/notify.ts";

interface RunHeaderProps {
  readonly sandbox: Sandbox;
  readonly mayOperate: boolean;
  readonly isLoadingHistory: boolean;
  readonly loaded: number;
}

export function RunHeader({ sandbox, mayOperate, isLoadingHistory, loaded }: RunHeaderProps) {
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-1.5 border-b border-line px-3 py-2.5 md:px-5">
      <StateBadge state={sandbox.state} />
      <Liveness state={sandbox.state} lastAt={sandbox.last_heartbeat_at} />
      <h1
        className="order-first w-full min-w-0 truncate text-base font-semibold tracking-tight md:order-none md:w-auto md:flex-1"
        title={toTitle(sandbox)}
      >
        {toTitle(sandbox)}
      </h1>
      <dl className="flex flex-wrap items-center gap-x-4 gap-y-1 text-xs text-ink-3 tabular-nums">
        <Figure name="turn">{sandbox.turn}</Figure>
        <Figure name="events">
          {isLoadingHistory && loaded < sandbox.event_count
            ? `${formatCount(loaded)} of ${formatCount(sandbox.event_count)}`
            : formatCount(sandbox.event_count)}
        </Figure>
        {sandbox.generation > 1 && <Figure name="generation">{sandbox.generation}</Figure>}
        <Figure name="for">
          <Elapsed sandbox={sandbox} />
        </Figure>
      </dl>
      {mayOperate && !TERMINAL_SANDBOX_STATES.has(sandbox.state) && <Terminate sandbox={sandbox} />}
    </div>
  );
}

function Figure({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div className="flex items-baseline gap-1">
      <dt>{name}</dt>
      <dd className="font-semibold text-ink-2">{children}</dd>
    </div>
  );
}

function Elapsed({ sandbox }: { readonly sandbox: Sandbox }) {
  const now = useNow();
  const end = sandbox.ended_at === null ? now : Date.parse(sandbox.ended_at);
  return formatSpan(end - Date.parse(sandbox.started_at ?? sandbox.created_at));
}

function Terminate({ sandbox }: { readonly sandbox: Sandbox }) {
  const [isAsking, setAsking] = useState(false);
  const terminate = useMutation({
    mutationFn: () => client.terminateSandbox({ params: { sandbox_id: sandbox.id } }),
    onSuccess: (ended) => {
      queryClient.setQueryData(sandboxQuery(sandbox.id).queryKey, ended);
      notify.good("The sandbox is terminated");
    },
    onError: (error) => notify.bad(`Not terminated: ${error.message}`),
  });
  return (
    <>
      <Button
        size="small"
        onClick={() => setAsking(true)}
        disabled={terminate.isPending}
        aria-label="Terminate"
        className="max-md:ml-auto"
      >
        <CircleStop size={13} /> <span className="max-md:hidden">Terminate</span>
      </Button>
      <Confirm
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        onConfirm={() => terminate.mutate()}
        title="Terminate this sandbox?"
        text="Its worker is stopped and its token revoked. The log stays; the sandbox cannot be started again."
        verb="Terminate"
      />
    </>
  );
}
