/** A sandbox for a worker that someone starts by hand: its credentials are told once. */
import type { CreatedSandbox } from "@drover/contract";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { ArrowRight, LoaderCircle } from "lucide-react";
import { useId, useState, type FormEvent } from "react";
import { client } from "../data/client.ts";
import { Button } from "../ui/button.tsx";
import { cx } from "../ui/class-names.ts";
import { CopyButton } from "../ui/copy.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { inputLook } from "../ui/field.tsx";
import { Problem } from "../ui/problem.tsx";

export function NewExternal({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) {
  const [created, setCreated] = useState<CreatedSandbox>();
  const close = () => {
    onClose();
    setCreated(undefined);
  };
  return (
    <Dialog
      isOpen={isOpen}
      onClose={close}
      title={created === undefined ? "New external sandbox" : "Start your worker with these"}
      description={
        created === undefined
          ? "Drover starts nothing: any program that speaks the worker's HTTP contract can be the agent."
          : "The token is shown only now. It is bound to this sandbox and ends with it."
      }
    >
      {created === undefined ? <Ask onCreated={setCreated} /> : <Told created={created} onClose={close} />}
    </Dialog>
  );
}

function Ask({ onCreated }: { readonly onCreated: (created: CreatedSandbox) => void }) {
  const [prompt, setPrompt] = useState("");
  const id = useId();
  const queries = useQueryClient();
  const create = useMutation({
    mutationFn: () =>
      client.createSandbox({
        body: { provider: "external", ...(prompt.trim() === "" ? {} : { prompt: prompt.trim() }) },
      }),
    onSuccess: (sandbox) => {
      onCreated(sandbox);
      return queries.invalidateQueries({ queryKey: ["sandboxes"] });
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate();
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <div className="flex flex-col gap-1.5">
        <label htmlFor={id} className="text-sm font-medium">
          What should it do? <span className="font-normal text-ink-3">(optional)</span>
        </label>
        <textarea
          id={id}
          rows={4}
          data-focus-first
          className={cx(inputLook, "resize-y py-2")}
          value={prompt}
          onChange={(event) => setPrompt(event.target.value)}
          onKeyDown={(event) => event.key === "Enter" && (event.metaKey || event.ctrlKey) && create.mutate()}
        />
      </div>
      {create.isError && <Problem error={create.error} what="The sandbox was not created" />}
      <Button type="submit" look="solid" disabled={create.isPending} className="self-end">
        {create.isPending && <LoaderCircle size={15} className="animate-spin" />} Create sandbox
      </Button>
    </form>
  );
}

function Told({ created, onClose }: { readonly created: CreatedSandbox; readonly onClose: () => void }) {
  const navigate = useNavigate();
  const env = Object.entries(
    created.worker_env ?? { SANDBOX_ID: created.id, SANDBOX_TOKEN: created.worker_token ?? "" },
  );
  const lines = env.map(([name, value]) => `export ${name}=${value}`).join("\n");
  return (
    <div className="flex flex-col gap-3">
      <dl className="divide-y divide-line rounded-xl border border-line bg-sunken">
        {env.map(([name, value]) => (
          <div key={name} className="flex items-center gap-3 px-3 py-2">
            <div className="min-w-0 flex-1">
              <dt className="text-2xs font-semibold text-ink-3">{name}</dt>
              <dd className="font-mono text-xs break-all" data-env={name}>
                {value}
              </dd>
            </div>
            <CopyButton text={value} name={name} />
          </div>
        ))}
      </dl>
      <div className="flex justify-between gap-2">
        <CopyButton text={lines} label="Copy all as exports" />
        <Button
          look="solid"
          onClick={() => {
            onClose();
            void navigate({ to: "/sandboxes/$sandboxId", params: { sandboxId: created.id } });
          }}
        >
          Open the sandbox <ArrowRight size={15} />
        </Button>
      </div>
    </div>
  );
}
