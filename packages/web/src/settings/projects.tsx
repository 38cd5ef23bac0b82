/** Projects: their repository, what their sandboxes are made of unless told, and how far they go by themselves. */
import type { NewProject, Project, ProjectChange } from "@drover/contract";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useState, type FormEvent } from "react";
import { client } from "../data/client.ts";
import { projectsQuery, queryClient } from "../data/queries.ts";
import { useMay } from "../data/use-may.ts";
import { Section } from "../pages/section.tsx";
import { Listing } from "../ui/listing.tsx";
import { Button } from "../ui/button.tsx";
import { Check } from "../ui/check.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { notify } from "../ui/notify.ts";
import { Problem } from "../ui/problem.tsx";
import { Select } from "../ui/select.tsx";

const readProjects = () => queryClient.invalidateQueries({ queryKey: projectsQuery.queryKey });

export function Projects() {
  const projects = useQuery(projectsQuery);
  const mayAdminister = useMay("administer");
  const [edited, setEdited] = useState<Project | "new">();
  return (
    <Section
      title="Projects"
      action={
        mayAdminister && (
          <Button size="small" onClick={() => setEdited("new")}>
            <Plus size={14} /> New project
          </Button>
        )
      }
    >
      <Listing read={projects} what="The projects" height="h-20">
        {(items) =>
          items.map((project) => (
            <div
              key={project.id}
              data-project={project.id}
              className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-3"
            >
              <div className="min-w-0 flex-1 basis-56">
                <p className="truncate text-sm font-medium">
                  {project.name}
                  {project.is_default && (
                    <span className="ml-2 text-xs font-normal text-ink-3">unless another is named</span>
                  )}
                  {project.status !== "active" && (
                    <span className="ml-2 text-xs font-normal text-ink-3">{project.status}</span>
                  )}
                </p>
                <p className="text-xs wrap-anywhere text-ink-3">{describe(project)}</p>
              </div>
              <div className="flex items-center gap-4">
                <Link
                  to="/tasks"
                  search={{ project: project.id }}
                  className="text-xs font-medium text-live-ink underline underline-offset-2"
                >
                  Tasks
                </Link>
                <Link
                  to="/sandboxes"
                  search={{ project: project.id }}
                  className="text-xs font-medium text-live-ink underline underline-offset-2"
                >
                  Sandboxes
                </Link>
                {mayAdminister && (
                  <Button size="small" onClick={() => setEdited(project)} aria-label={`Edit ${project.name}`}>
                    Edit
                  </Button>
                )}
              </div>
            </div>
          ))
        }
      </Listing>
      {edited !== undefined && <EditProject project={edited} onClose={() => setEdited(undefined)} />}
    </Section>
  );
}

const describe = ({ description, repo, settings, autonomous_execution_enabled: isAutonomous }: Project): string =>
  [
    description,
    repo,
    settings.runtime,
    settings.provider,
    settings.network === undefined ? undefined : `network ${settings.network}`,
    isAutonomous ? "runs ready tasks by itself" : undefined,
  ]
    .filter(Boolean)
    .join(" · ") || "as the server is configured";

const AS_CONFIGURED = { value: "", label: "As configured" };
const PROVIDERS = [
  AS_CONFIGURED,
  ...["local", "docker", "daytona", "kubernetes"].map((value) => ({ value, label: value })),
];
const NETWORKS = [AS_CONFIGURED, ...["none", "allowlist", "open"].map((value) => ({ value, label: value }))];
const SWITCHES = [
  { name: "branches_enabled", label: "Tasks work on branches of the repository" },
  { name: "validation_enabled", label: "A second agent looks at finished tasks" },
  { name: "ticket_human_review", label: "New tickets wait for a person" },
  { name: "auto_merge", label: "Pull requests that can be merged are merged" },
] as const;

interface Form {
  readonly name: string;
  readonly description: string;
  readonly repo: string;
  readonly provider: string;
  readonly runtime: string;
  readonly model: string;
  readonly network: string;
  readonly branch: string;
  readonly atOnce: string;
  readonly isAutonomous: boolean;
  readonly switches: Readonly<Record<(typeof SWITCHES)[number]["name"], boolean>>;
}

function toForm(project: Project | "new"): Form {
  const known = project === "new" ? undefined : project;
  const settings = known?.settings ?? {};
  return {
    name: known?.name ?? "",
    description: known?.description ?? "",
    repo: known?.repo ?? "",
    provider: settings.provider ?? "",
    runtime: settings.runtime ?? "",
    model: settings.model ?? "",
    network: settings.network ?? "",
    branch: settings.default_branch ?? "",
    atOnce: settings.max_concurrent_tasks === undefined ? "" : String(settings.max_concurrent_tasks),
    isAutonomous: known?.autonomous_execution_enabled ?? false,
    switches: {
      branches_enabled: settings.branches_enabled ?? true,
      validation_enabled: settings.validation_enabled ?? false,
      ticket_human_review: settings.ticket_human_review ?? false,
      auto_merge: settings.auto_merge ?? known?.autonomous_execution_enabled ?? false,
    },
  };
}

const orNull = (text: string): string | null => (text.trim() === "" ? null : text.trim());

/** A key that is null is taken away. */
function toChange(form: Form): ProjectChange {
  return {
    name: form.name.trim(),
    description: orNull(form.description),
    repo: orNull(form.repo),
    autonomous_execution_enabled: form.isAutonomous,
    settings: {
      provider: orNull(form.provider) as "local" | null,
      runtime: orNull(form.runtime),
      model: orNull(form.model),
      network: orNull(form.network) as "none" | null,
      default_branch: orNull(form.branch),
      max_concurrent_tasks: form.atOnce.trim() === "" ? null : Number(form.atOnce),
      ...form.switches,
      // Unset it follows the project's autonomy, and what says the same stays so.
      auto_merge: form.switches.auto_merge === form.isAutonomous ? null : form.switches.auto_merge,
    },
  };
}

const dropNulls = <T extends object>(given: T): object =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));

const toNew = (form: Form): NewProject => {
  const { settings, ...rest } = toChange(form);
  return { ...dropNulls(rest), settings: dropNulls(settings ?? {}) } as NewProject;
};

function EditProject({ project, onClose }: { readonly project: Project | "new"; readonly onClose: () => void }) {
  const [form, setForm] = useState(() => toForm(project));
  const keep = useMutation({
    mutationFn: () =>
      project === "new"
        ? client.createProject({ body: toNew(form) })
        : client.updateProject({ params: { project_id: project.id }, body: toChange(form) }),
    onSuccess: (kept) => {
      onClose();
      notify.good(`${kept.name} is kept`);
      return readProjects();
    },
  });
  const bind = (part: Exclude<keyof Form, "isAutonomous" | "switches">) => ({
    value: form[part],
    onChange: (event: { readonly target: { readonly value: string } }) =>
      setForm((old) => ({ ...old, [part]: event.target.value })),
  });
  const isNumber = form.atOnce.trim() === "" || /^[1-9]\d{0,2}$/.test(form.atOnce.trim());
  const isReady = form.name.trim() !== "" && isNumber;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isReady) keep.mutate();
  };
  return (
    <Dialog isOpen onClose={onClose} title={project === "new" ? "New project" : project.name}>
      <form onSubmit={submit} className="flex flex-col gap-4">
        <Field label="Name" data-focus-first maxLength={100} {...bind("name")} />
        <Field label="Description" maxLength={2_000} {...bind("description")} />
        <Field
          label="Repository"
          spellCheck={false}
          placeholder="Path or address; an empty one of its own if not given"
          {...bind("repo")}
        />
        <div className="grid gap-4 sm:grid-cols-2">
          <Field label="Default branch" spellCheck={false} placeholder="main" {...bind("branch")} />
          <Field label="Agent" spellCheck={false} placeholder="As configured" {...bind("runtime")} />
          <Field label="Model" spellCheck={false} placeholder="The agent's own choice" {...bind("model")} />
          <Select label="Provider" options={PROVIDERS} {...bind("provider")} />
          <Select label="Network" options={NETWORKS} {...bind("network")} />
          <Field
            label="Tasks at once"
            inputMode="numeric"
            placeholder="As configured"
            complaint={isNumber ? undefined : "A whole number from 1 to 999."}
            {...bind("atOnce")}
          />
        </div>
        <fieldset className="flex flex-col gap-1">
          <legend className="mb-1 text-sm font-medium">By itself</legend>
          <Check
            label="Ready tasks are started"
            isOn={form.isAutonomous}
            onChange={(isAutonomous) => setForm((old) => ({ ...old, isAutonomous }))}
          />
          {SWITCHES.map(({ name, label }) => (
            <Check
              key={name}
              label={label}
              isOn={form.switches[name]}
              onChange={(isOn) => setForm((old) => ({ ...old, switches: { ...old.switches, [name]: isOn } }))}
            />
          ))}
        </fieldset>
        {keep.isError && <Problem error={keep.error} what="The project was not kept" />}
        <Button type="submit" look="solid" className="self-end" disabled={!isReady || keep.isPending}>
          {project === "new" ? "Create project" : "Keep changes"}
        </Button>
      </form>
    </Dialog>
  );
}
