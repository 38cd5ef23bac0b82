/** Starts one task twice, with two agents or two models, to be watched side by side. */
import type { NewSandbox } from "@drover/contract";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Flag } from "lucide-react";
import { useState } from "react";
import { packagesQuery } from "../agents/queries.ts";
import { client } from "../data/client.ts";
import { projectsQuery, queryClient } from "../data/queries.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { notify } from "../ui/notify.ts";
import { Problem } from "../ui/problem.tsx";
import { Select, TextArea } from "../ui/select.tsx";
import { RACE_LABEL } from "./race.ts";

interface Runner {
  readonly runtime: string;
  readonly model: string;
}

interface Task {
  readonly prompt: string;
  readonly project: string;
  readonly base: string;
}

const toRequest = ({ prompt, project, base }: Task, { runtime, model }: Runner, race: string): NewSandbox => ({
  prompt: prompt.trim(),
  runtime,
  labels: { [RACE_LABEL]: race },
  ...(project === "" ? {} : { project_id: project as NonNullable<NewSandbox["project_id"]> }),
  ...(base.trim() === "" ? {} : { base_branch: base.trim() }),
  ...(model.trim() === "" ? {} : { model: model.trim() }),
});

/** Both or none: one alone would cost money and race against nobody. */
async function startRace(task: Task, [one, other]: readonly [Runner, Runner]): Promise<{ a: string; b: string }> {
  const race = `race-${Date.now().toString(36)}`;
  const a = await client.createSandbox({ body: toRequest(task, one, race) });
  try {
    const b = await client.createSandbox({ body: toRequest(task, other, race) });
    return { a: a.id, b: b.id };
  } catch (error) {
    // Expected: an agent that is not installed, a limit of how many may run.
    await client
      .terminateSandbox({ params: { sandbox_id: a.id } })
      .catch(() => notify.bad("A works alone: it could not be ended. End it in the list of sandboxes."));
    throw error;
  }
}

interface RaceDialogProps {
  readonly onClose: () => void;
  readonly onStart: (pair: { readonly a: string; readonly b: string }) => void;
}

export function RaceDialog({ onClose, onStart }: RaceDialogProps) {
  const projects = useQuery(projectsQuery);
  const packages = useQuery(packagesQuery);
  const [task, setTask] = useState<Task>({ prompt: "", project: "", base: "" });
  const [runners, setRunners] = useState<readonly [Runner, Runner]>([
    { runtime: "claude", model: "" },
    { runtime: "codex", model: "" },
  ]);
  const start = useMutation({
    mutationFn: () => startRace(task, runners),
    onSuccess: (pair) => {
      void queryClient.invalidateQueries({ queryKey: ["sandboxes"] });
      onStart(pair);
    },
  });
  const [one, other] = runners;
  const isSame = one.runtime === other.runtime && one.model.trim() === other.model.trim();
  const options = [
    ...(packages.data?.items ?? []).map(({ name, title, state }) => ({
      value: name,
      label: state === "installed" ? title : `${title} (${state === "absent" ? "not installed" : state})`,
    })),
    { value: "openhands", label: "OpenHands" },
    { value: "scripted", label: "Scripted" },
  ];
  // The agents that can be had may not be known yet, or not be readable: who is chosen is named nevertheless.
  const optionsWith = (chosen: string) =>
    options.some(({ value }) => value === chosen) ? options : [{ value: chosen, label: chosen }, ...options];
  const part = (name: keyof Task) => ({
    value: task[name],
    onChange: ({ target }: { readonly target: { readonly value: string } }) =>
      setTask((old) => ({ ...old, [name]: target.value })),
  });
  const runner = (at: 0 | 1, name: keyof Runner) => ({
    value: runners[at][name],
    onChange: ({ target }: { readonly target: { readonly value: string } }) => {
      const next = { ...runners[at], [name]: target.value };
      setRunners(at === 0 ? [next, other] : [one, next]);
    },
  });
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title="Race two agents"
      description="One task, started twice, each in a sandbox and on a branch of its own. You watch both, choose one, and the other is ended."
    >
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          start.mutate();
        }}
      >
        <TextArea label="What should be done?" rows={4} required autoFocus {...part("prompt")} />
        <div className="grid gap-4 sm:grid-cols-2">
          <Select
            label="Project"
            {...part("project")}
            options={[
              { value: "", label: "Default" },
              ...(projects.data?.items ?? []).map(({ id, name }) => ({ value: id, label: name })),
            ]}
          />
          <Field label="From branch" placeholder="The project's own" {...part("base")} />
          {([0, 1] as const).map((at) => (
            <fieldset key={at} className="flex min-w-0 flex-col gap-3 rounded-xl border border-line p-3">
              <legend className="px-1 text-sm font-semibold">{at === 0 ? "A" : "B"}</legend>
              <Select
                label={`Agent ${at === 0 ? "A" : "B"}`}
                options={optionsWith(runners[at].runtime)}
                {...runner(at, "runtime")}
              />
              <Field label={`Model ${at === 0 ? "A" : "B"}`} placeholder="As configured" {...runner(at, "model")} />
            </fieldset>
          ))}
        </div>
        {isSame && (
          <p className="text-xs text-ink-3">Both are the same: you will see how much one agent differs from itself.</p>
        )}
        {start.isError && <Problem error={start.error} what="The race was not started" />}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="solid" disabled={start.isPending || task.prompt.trim() === ""}>
            <Flag size={14} /> Start both
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
