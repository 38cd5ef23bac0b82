/** What can be done with all that are selected: asked once, done for each, and told how many went well. */
import { API_BASE, TERMINAL_SANDBOX_STATES, type Sandbox } from "@drover/contract";
import { useNavigate } from "@tanstack/react-router";
import { useMutation } from "@tanstack/react-query";
import { ArrowDownToLine, CirclePause, CircleStop, GitCompareArrows, MessageSquareText, Play, X } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { client } from "../data/client.ts";
import { downloadFrom } from "../data/download.ts";
import { formatCount } from "../data/format.ts";
import { queryClient } from "../data/queries.ts";
import { Button } from "../ui/button.tsx";
import { Confirm } from "../ui/confirm.tsx";
import { notify } from "../ui/notify.ts";
import { Tooltip } from "../ui/tooltip.tsx";

const MessageAll = lazy(() => import("./message-all.tsx").then((module) => ({ default: module.MessageAll })));

type Verb = "pause" | "resume" | "terminate";

const CALLS = {
  pause: client.pauseSandbox,
  resume: client.resumeSandbox,
  terminate: client.terminateSandbox,
} as const;
const DONE = { pause: "paused", resume: "resumed", terminate: "terminated" } as const;

/** Drover has no hold on what it did not make. */
const CAN: Readonly<Record<Verb, (sandbox: Sandbox) => boolean>> = {
  pause: ({ state, provider }) => state === "running" && provider !== "external",
  resume: ({ state, provider }) => state === "paused" && provider !== "external",
  terminate: ({ state }) => !TERMINAL_SANDBOX_STATES.has(state),
};

export const count = (number: number): string => `${formatCount(number)} ${number === 1 ? "sandbox" : "sandboxes"}`;

async function actOnAll(verb: Verb, sandboxes: readonly Sandbox[]): Promise<void> {
  const results = await Promise.allSettled(sandboxes.map(({ id }) => CALLS[verb]({ params: { sandbox_id: id } })));
  const failed = results.filter((result) => result.status === "rejected");
  const done = results.length - failed.length;
  if (failed.length > 0) {
    const [first] = failed;
    const reason = first?.reason instanceof Error ? first.reason.message : "";
    notify.bad(`${count(failed.length)} could not be ${DONE[verb]}: ${reason}`);
  }
  if (done === 0) return;
  const told = `${count(done)} ${DONE[verb]}`;
  if (verb === "terminate") return notify.good(told);
  const went = sandboxes.filter((_, at) => results[at]?.status === "fulfilled");
  notify.undoable(told, () => void actOnAll(verb === "pause" ? "resume" : "pause", went).then(readAgain));
}

/** The browser itself reads it, however long it is. */
function downloadArchives(sandboxes: readonly Sandbox[]): void {
  for (const { id } of sandboxes)
    downloadFrom(`${API_BASE}/sandboxes/${encodeURIComponent(id)}/archive`, `${id}.drover.tar`);
}

const readAgain = () => queryClient.invalidateQueries({ queryKey: ["sandboxes"] });

interface BulkBarProps {
  readonly selected: readonly Sandbox[];
  readonly onClear: () => void;
}

export function BulkBar({ selected, onClear }: BulkBarProps) {
  const navigate = useNavigate();
  const [isAsking, setAsking] = useState(false);
  const [isWriting, setWriting] = useState(false);
  const act = useMutation({
    mutationFn: (verb: Verb) => actOnAll(verb, selected.filter(CAN[verb])),
    onSuccess: (_, verb) => verb === "terminate" && onClear(),
    onSettled: readAgain,
  });
  const able = (verb: Verb) => selected.filter(CAN[verb]).length;
  const [first, second] = selected;
  return (
    <div
      role="toolbar"
      aria-label="Selected sandboxes"
      className="sticky bottom-4 mx-auto flex w-fit max-w-full flex-wrap items-center gap-2 rounded-2xl border border-line bg-raised px-3 py-2 shadow-lift"
    >
      <span role="status" className="px-1 text-sm font-medium">
        {formatCount(selected.length)} selected
      </span>
      {able("pause") > 0 && (
        <Button size="small" disabled={act.isPending} onClick={() => act.mutate("pause")}>
          <CirclePause size={13} /> Pause {formatCount(able("pause"))}
        </Button>
      )}
      {able("resume") > 0 && (
        <Button size="small" disabled={act.isPending} onClick={() => act.mutate("resume")}>
          <Play size={13} /> Resume {formatCount(able("resume"))}
        </Button>
      )}
      {able("terminate") > 0 && (
        <Button size="small" disabled={act.isPending} onClick={() => setAsking(true)}>
          <CircleStop size={13} /> Terminate {formatCount(able("terminate"))}
        </Button>
      )}
      {able("terminate") > 0 && (
        <Button size="small" onClick={() => setWriting(true)}>
          <MessageSquareText size={13} /> Message {formatCount(able("terminate"))}
        </Button>
      )}
      <Tooltip label="Log, diffs and files as one file each">
        <Button size="small" onClick={() => downloadArchives(selected)}>
          <ArrowDownToLine size={13} /> Archive {formatCount(selected.length)}
        </Button>
      </Tooltip>
      {selected.length === 2 && (
        <Tooltip label="Compare the two" action="compareTwo">
          <Button
            size="small"
            onClick={() => void navigate({ to: "/compare", search: { a: first?.id ?? "", b: second?.id ?? "" } })}
          >
            <GitCompareArrows size={13} /> Compare
          </Button>
        </Tooltip>
      )}
      {selected.length === 1 && (
        <Button
          size="small"
          onClick={() => void navigate({ to: "/sandboxes/$sandboxId", params: { sandboxId: selected[0]?.id ?? "" } })}
        >
          Open
        </Button>
      )}
      <Button size="small" look="ghost" onClick={onClear} aria-label="Clear the selection">
        <X size={14} />
      </Button>
      <Suspense>
        {isWriting && <MessageAll sandboxes={selected.filter(CAN.terminate)} onClose={() => setWriting(false)} />}
      </Suspense>
      <Confirm
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        onConfirm={() => act.mutate("terminate")}
        title={`Terminate ${count(able("terminate"))}?`}
        text="Their workers are stopped and their tokens revoked. The logs stay; the sandboxes cannot be started again."
        verb="Terminate"
      />
    </div>
  );
}
