/** A new sandbox that goes on from a moment of a run: what it will have, said before it is made. */
import type { CreatedSandbox, Memory, Sandbox } from "@drover/contract";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Brain, FolderTree, GitFork } from "lucide-react";
import { useState, type ReactNode } from "react";
import { client } from "../data/client.ts";
import { formatCount, plural } from "../data/format.ts";
import { Button } from "../ui/button.tsx";
import { CopyButton } from "../ui/copy.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { notify } from "../ui/notify.ts";
import { Problem } from "../ui/problem.tsx";
import { TextArea } from "../ui/select.tsx";
import { momentQuery } from "./queries.ts";

const MEMORY: Readonly<Record<Memory, string>> = {
  native: "The agent remembers everything up to here, as its runtime saved it.",
  reseeded: "The agent's own memory was not saved: it starts with a summary of what happened up to here.",
  fresh: "Nothing the agent knew was kept: it starts afresh, with the files only.",
};

interface ForkDialogProps {
  readonly sandbox: Sandbox;
  /** Of the whole log, and within the run. */
  readonly seq: number;
  readonly at: number;
  readonly isEnd: boolean;
  readonly onClose: () => void;
}

export function ForkDialog({ sandbox, seq, at, isEnd, onClose }: ForkDialogProps) {
  const navigate = useNavigate();
  const [prompt, setPrompt] = useState("");
  const [made, setMade] = useState<CreatedSandbox>();
  const moment = useQuery(momentQuery(sandbox.id, seq));
  const memory = moment.data?.memory;
  const fork = useMutation({
    mutationFn: () =>
      client.forkSandbox({
        params: { sandbox_id: sandbox.id },
        body: {
          at_seq: seq,
          ...(prompt.trim() === "" ? {} : { prompt: prompt.trim() }),
          ...(memory === "fresh" ? { fresh: true } : {}),
        },
      }),
    onSuccess: (created) => {
      notify.good(isEnd ? "The run goes on in a new sandbox" : `Forked at event ${formatCount(at)}`);
      // Nobody starts the worker of a sandbox that Drover did not make: its credential is told here, once.
      if (created.worker_env !== undefined) return setMade(created);
      onClose();
      void navigate({ to: "/sandboxes/$sandboxId", params: { sandboxId: created.id } });
    },
  });
  const files = moment.data?.files;
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={isEnd ? "Go on in a new sandbox" : "Fork from here"}
      description={
        isEnd
          ? "A new sandbox goes on from the end of this run. This one stays as it is."
          : `A new sandbox goes on from event ${formatCount(at)}. This run stays as it is.`
      }
    >
      {made !== undefined ? (
        <Made
          made={made}
          onOpen={() => void navigate({ to: "/sandboxes/$sandboxId", params: { sandboxId: made.id } })}
        />
      ) : (
        <form
          className="flex flex-col gap-4"
          onSubmit={(event) => {
            event.preventDefault();
            fork.mutate();
          }}
        >
          {moment.isError ? (
            <Problem
              error={moment.error}
              what="What would be kept could not be read"
              onRetry={() => void moment.refetch()}
            />
          ) : (
            <ul className="flex flex-col gap-2 rounded-xl border border-line bg-surface p-3 text-sm" data-testid="kept">
              <Kept icon={FolderTree} name="Files">
                {moment.data === undefined
                  ? "…"
                  : files === null || files === undefined
                    ? "None were kept up to here: the workspace starts as the first one did."
                    : `${plural(files.filter(({ change }) => change !== "deleted").length, "file")}, exactly as they were at the last checkpoint.`}
              </Kept>
              <Kept icon={Brain} name={memory === undefined ? "Memory" : `Memory: ${memory}`}>
                {memory === undefined ? "…" : MEMORY[memory]}
              </Kept>
            </ul>
          )}
          <TextArea
            label="What to do from here"
            hint="Left empty, the agent is told to go on."
            rows={4}
            value={prompt}
            onChange={(event) => setPrompt(event.target.value)}
            maxLength={100_000}
          />
          {fork.isError && <Problem error={fork.error} what="No sandbox was made" />}
          <div className="flex justify-end gap-2">
            <Button onClick={onClose}>Cancel</Button>
            <Button look="solid" type="submit" disabled={fork.isPending || moment.data === undefined}>
              <GitFork size={14} /> {isEnd ? "Go on" : "Fork"}
            </Button>
          </div>
        </form>
      )}
    </Dialog>
  );
}

function Kept({
  icon: Icon,
  name,
  children,
}: {
  readonly icon: typeof Brain;
  readonly name: string;
  readonly children: ReactNode;
}) {
  return (
    <li className="flex gap-3">
      <Icon size={16} aria-hidden className="mt-0.5 shrink-0 text-ink-3" />
      <span>
        <span className="font-medium">{name}</span>
        <span className="block text-ink-2">{children}</span>
      </span>
    </li>
  );
}

function Made({ made, onOpen }: { readonly made: CreatedSandbox; readonly onOpen: () => void }) {
  const text = Object.entries(made.worker_env ?? {})
    .map(([name, value]) => `${name}=${value}`)
    .join("\n");
  return (
    <div className="flex flex-col gap-3">
      <p className="text-sm text-ink-2">
        This sandbox is not made by Drover: start its worker with these variables. They are shown once.
      </p>
      <pre
        tabIndex={0}
        className="overflow-x-auto rounded-lg border border-line bg-sunken p-3 font-mono text-xs"
        aria-label="Variables of the worker"
        role="region"
      >
        {text}
      </pre>
      <div className="flex justify-end gap-2">
        <CopyButton text={text} label="Copy" name="variables" />
        <Button look="solid" onClick={onOpen}>
          Open the run
        </Button>
      </div>
    </div>
  );
}
