/** What a person may do with a sandbox: pause it, let it go on, end it. */
import { TERMINAL_SANDBOX_STATES, type Sandbox } from "@drover/contract";
import { useMutation } from "@tanstack/react-query";
import { CirclePause, CircleStop, Hand, Play, type LucideIcon } from "lucide-react";
import { useState } from "react";
import type { ActionName } from "../app/actions.ts";
import { runAction, useKeys } from "../app/keys.ts";
import { client } from "../data/client.ts";
import { queryClient, sandboxQuery } from "../data/queries.ts";
import { Button } from "../ui/button.tsx";
import { Confirm } from "../ui/confirm.tsx";
import { notify } from "../ui/notify.ts";
import { Tooltip } from "../ui/tooltip.tsx";
import { PreviewButton } from "./preview-button.tsx";

export function RunActions({ sandbox }: { readonly sandbox: Sandbox }) {
  if (TERMINAL_SANDBOX_STATES.has(sandbox.state)) return null;
  // Drover has no hold on what it did not make.
  const isOurs = sandbox.provider !== "external";
  return (
    <>
      {isOurs && sandbox.state === "running" && <PreviewButton sandbox={sandbox} />}
      {sandbox.state === "running" && <Interrupt />}
      {isOurs && sandbox.state === "running" && <Pause sandbox={sandbox} />}
      {isOurs && sandbox.state === "paused" && <Resume sandbox={sandbox} />}
      <Terminate sandbox={sandbox} />
    </>
  );
}

/** The answer is newer than what the page knows, unless the log has already told of it. */
function keep(sandbox: Sandbox): void {
  queryClient.setQueryData(sandboxQuery(sandbox.id).queryKey, (known) =>
    known !== undefined && known.last_seq > sandbox.last_seq ? known : sandbox,
  );
}

interface ActionProps {
  /** As the palette knows it; undefined where several like it stand on the page. */
  readonly action: ActionName | undefined;
  readonly name: string;
  readonly icon: LucideIcon;
  /** What it ends cannot be begun again. */
  readonly isLast?: boolean;
  readonly isBusy: boolean;
  readonly onClick: () => void;
}

function Action({ action, name, icon: Icon, isLast = false, isBusy, onClick }: ActionProps) {
  useKeys(action === undefined ? {} : { [action]: () => !isBusy && onClick() });
  return (
    <Button
      size="small"
      look={isLast ? "final" : "plain"}
      onClick={onClick}
      disabled={isBusy}
      aria-label={name}
      title={name}
    >
      <Icon size={13} /> <span className="max-md:hidden">{name}</span>
    </Button>
  );
}

/** Says so in the message box, where a word can go with it. */
const Interrupt = () => (
  <Tooltip label="Stop the turn that runs" action="interrupt">
    <Button size="small" aria-label="Interrupt" onClick={() => runAction("interrupt")}>
      <Hand size={13} /> <span className="max-2xl:hidden">Interrupt</span>
    </Button>
  </Tooltip>
);

function Pause({ sandbox }: { readonly sandbox: Sandbox }) {
  const pause = useMutation({
    mutationFn: () => client.pauseSandbox({ params: { sandbox_id: sandbox.id } }),
    onSuccess: keep,
    onError: (error) => notify.bad(`Not paused: ${error.message}`),
  });
  return (
    <Action action="pause" name="Pause" icon={CirclePause} isBusy={pause.isPending} onClick={() => pause.mutate()} />
  );
}

function Resume({ sandbox }: { readonly sandbox: Sandbox }) {
  const resume = useMutation({
    mutationFn: () => client.resumeSandbox({ params: { sandbox_id: sandbox.id } }),
    onSuccess: keep,
    onError: (error) => notify.bad(`Not resumed: ${error.message}`),
  });
  return <Action action="resume" name="Resume" icon={Play} isBusy={resume.isPending} onClick={() => resume.mutate()} />;
}

interface TerminateProps {
  readonly sandbox: Sandbox;
  readonly name?: string;
  /** One of several in a list. */
  readonly isListed?: boolean;
}

export function Terminate({ sandbox, name = "Terminate", isListed = false }: TerminateProps) {
  const [isAsking, setAsking] = useState(false);
  const terminate = useMutation({
    mutationFn: () => client.terminateSandbox({ params: { sandbox_id: sandbox.id } }),
    onSuccess: (ended) => {
      keep(ended);
      notify.good("The sandbox is terminated");
    },
    onError: (error) => notify.bad(`Not terminated: ${error.message}`),
  });
  return (
    <>
      <Action
        action={isListed ? undefined : "terminate"}
        name={name}
        icon={CircleStop}
        isLast
        isBusy={terminate.isPending}
        onClick={() => setAsking(true)}
      />
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
