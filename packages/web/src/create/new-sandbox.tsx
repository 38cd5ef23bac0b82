/** A new sandbox: what should be done, by whom, where, and within which limits. */
import { ClientError } from "@drover/client";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { LoaderCircle } from "lucide-react";
import { lazy, Suspense, useEffect, useRef, useState, type FormEvent, type KeyboardEvent } from "react";
import { client } from "../data/client.ts";
import { projectsQuery, sandboxesQuery } from "../data/queries.ts";
import { useMay } from "../data/use-may.ts";
import { Button } from "../ui/button.tsx";
import { Empty } from "../ui/empty.tsx";
import { Field } from "../ui/field.tsx";
import { MOD } from "../ui/kbd.tsx";
import { Page } from "../ui/page.tsx";
import { Problem } from "../ui/problem.tsx";
import { Select, TextArea } from "../ui/select.tsx";
import { ComplaintList } from "./complaint-list.tsx";
import {
  findComplaints,
  forgetPrompt,
  keepDraft,
  readDraft,
  toComplaints,
  toRequest,
  type Draft,
  type Part,
} from "./draft.ts";
import { Equivalent } from "./equivalent.tsx";
import { Estimate } from "./estimate.tsx";
import { Fold } from "./fold.tsx";
import { Outlook } from "./outlook.tsx";
import { PromptField } from "./prompt-field.tsx";
import { RepositoryState, useRepositoryCheck } from "./repository-state.tsx";
import { RuntimeChoice } from "./runtime-choice.tsx";
import { SizeChoice } from "./size-choice.tsx";
import { Templates } from "./templates.tsx";

const NewExternal = lazy(() => import("../pages/new-external.tsx").then((module) => ({ default: module.NewExternal })));

const PROVIDERS = [
  { value: "", label: "As configured" },
  { value: "local", label: "This machine" },
  { value: "docker", label: "Docker or Podman" },
  { value: "daytona", label: "Daytona" },
  { value: "kubernetes", label: "Kubernetes" },
];
const NETWORKS = [
  { value: "", label: "As configured" },
  { value: "none", label: "None" },
  { value: "allowlist", label: "Only what is listed" },
  { value: "open", label: "Open" },
];
const MODES = [
  { value: "", label: "As configured" },
  { value: "acceptEdits", label: "Edits are fine, ask for the rest" },
  { value: "default", label: "Ask for everything" },
  { value: "plan", label: "Plan only" },
  { value: "dontAsk", label: "Never ask, refuse instead" },
  { value: "bypassPermissions", label: "Everything is fine" },
];
const POLICIES = [
  { value: "", label: "As configured" },
  { value: "ask", label: "A person" },
  { value: "allow", label: "Nobody: allow" },
  { value: "deny", label: "Nobody: refuse" },
];
const MODELS: Readonly<Record<string, readonly string[]>> = {
  claude: ["claude-opus-4-8", "claude-sonnet-5", "claude-haiku-4-5"],
  "claude-acp": ["claude-opus-4-8", "claude-sonnet-5", "claude-haiku-4-5"],
  codex: ["gpt-5.5-codex", "gpt-5.5"],
  gemini: ["gemini-3-pro", "gemini-3-flash"],
};

export function NewSandboxPage() {
  const mayOperate = useMay("operate");
  if (!mayOperate)
    return (
      <Page title="New sandbox" back={{ to: "/sandboxes", label: "Sandboxes" }}>
        <Empty title="Your role may look, and not start a sandbox.">Ask an admin for a token of an operator.</Empty>
      </Page>
    );
  return <NewSandboxForm />;
}

function NewSandboxForm() {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const projects = useQuery(projectsQuery);
  const [draft, setDraft] = useState<Draft>(readDraft);
  const [isTried, setTried] = useState(false);
  const [isExternal, setExternal] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => keepDraft(draft), [draft]);

  const create = useMutation({
    mutationFn: () => client.createSandbox({ body: toRequest(draft) }),
    onSuccess: (sandbox) => {
      forgetPrompt(draft);
      // On the wall at once: what the server tells of it later takes its place.
      queries.setQueryData(sandboxesQuery({}).queryKey, (known) =>
        known === undefined
          ? known
          : {
              ...known,
              pages: known.pages.map((page, at) => (at > 0 ? page : { ...page, items: [sandbox, ...page.items] })),
            },
      );
      void queries.invalidateQueries({ queryKey: ["sandboxes"] });
      return navigate({ to: "/sandboxes/$sandboxId", params: { sandboxId: sandbox.id } });
    },
  });
  const repository = useRepositoryCheck(draft);
  const own = findComplaints(draft);
  const refused = create.error instanceof ClientError ? toComplaints(create.error) : {};
  const complaints = isTried ? { ...refused, ...own } : refused;
  const count = Object.keys(complaints).length;

  const pick = (parts: Partial<Draft>) => {
    setDraft((old) => ({ ...old, ...parts }));
    if (create.isError) create.reset();
  };
  const change = (part: Part) => (value: string) => pick({ [part]: value });
  const bind = (part: Part) => ({
    name: part,
    value: draft[part],
    complaint: complaints[part],
    onChange: (event: { readonly target: { readonly value: string } }) => change(part)(event.target.value),
  });
  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    setTried(true);
    if (Object.keys(own).length === 0) create.mutate();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) submit();
  };
  // Whoever sent something incomplete is led to the first field that says so.
  useEffect(() => {
    if (isTried && count > 0) form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- only when something was tried, not at each letter
  }, [isTried, create.isError]);

  return (
    <Page title="New sandbox" width="wide" back={{ to: "/sandboxes", label: "Sandboxes" }}>
      <div className="mx-auto grid w-full max-w-6xl gap-8 xl:grid-cols-[minmax(0,1fr)_22rem]">
        <form ref={form} noValidate onSubmit={submit} onKeyDown={onKeyDown} className="flex min-w-0 flex-col gap-6">
          <div className="flex flex-wrap items-baseline justify-between gap-2">
            <h1 className="text-2xl font-semibold tracking-tight">New sandbox</h1>
            <button
              type="button"
              onClick={() => setExternal(true)}
              className="rounded text-sm text-ink-3 underline underline-offset-2 hover:text-ink"
            >
              Bring your own worker instead
            </button>
          </div>
          <PromptField
            rows={5}
            autoFocus
            placeholder="Find out why the login test is flaky, and fix it. Keep the public API."
            maxLength={100_000}
            {...bind("prompt")}
          />
          <Templates draft={draft} onPick={pick} />
          <RuntimeChoice value={draft.runtime} complaint={complaints.runtime} onChange={change("runtime")} />
          <div className="grid gap-4 sm:grid-cols-2">
            <Field
              label="Model"
              list="models"
              placeholder="The agent's own choice"
              spellCheck={false}
              {...bind("model")}
            />
            <datalist id="models">
              {(MODELS[draft.runtime] ?? []).map((model) => (
                <option key={model} value={model} />
              ))}
            </datalist>
            <Select
              label="Project"
              options={(projects.data?.items ?? []).map((project) => ({
                value: project.is_default ? "" : project.id,
                label: project.name,
              }))}
              {...bind("project")}
            />
            <Field
              label="Repository"
              placeholder="Path or address; the project's own if empty"
              spellCheck={false}
              autoCapitalize="off"
              {...bind("repo")}
            />
            <Field
              label="Branch"
              list="branches"
              placeholder={repository.check.data?.default_branch ?? "The default branch"}
              spellCheck={false}
              autoCapitalize="off"
              {...bind("branch")}
            />
            <datalist id="branches">
              {repository.check.data?.branches.map((branch) => (
                <option key={branch} value={branch} />
              ))}
            </datalist>
            <RepositoryState state={repository} onBranch={change("branch")} />
          </div>
          <Fold
            title="Where, and within which limits"
            parts={["provider", "network", "memory", "cpu", "disk", "minutes", "env"]}
            draft={draft}
            complaints={complaints}
          >
            <SizeChoice draft={draft} onPick={pick} />
            <Select label="Provider" options={PROVIDERS} {...bind("provider")} />
            <Select label="Network" options={NETWORKS} {...bind("network")} />
            <Field label="Memory, GiB" inputMode="decimal" placeholder="4" {...bind("memory")} />
            <Field label="Cores" inputMode="decimal" placeholder="2" {...bind("cpu")} />
            <Field label="Disk, GiB" inputMode="decimal" placeholder="8" {...bind("disk")} />
            <Field label="Minutes at most" inputMode="decimal" placeholder="No limit" {...bind("minutes")} />
            <TextArea
              label="Variables"
              hint="The agent can read them. Keys of models and of Git need not be here."
              rows={2}
              placeholder={"NODE_ENV=test\nFEATURE_X=1"}
              spellCheck={false}
              className="sm:col-span-2 lg:col-span-3"
              {...bind("env")}
            />
          </Fold>
          <Fold
            title="What it may do and spend"
            parts={["mode", "policy", "deadline", "budget", "turns"]}
            draft={draft}
            complaints={complaints}
          >
            <Select label="What it may do unasked" options={MODES} {...bind("mode")} />
            <Select label="Who answers when it asks" options={POLICIES} {...bind("policy")} />
            <Field
              label="Minutes to answer, else refused"
              inputMode="decimal"
              placeholder="It waits"
              {...bind("deadline")}
            />
            <Field label="Budget, USD" inputMode="decimal" placeholder="No limit" {...bind("budget")} />
            <Field label="Turns at most" inputMode="numeric" placeholder="No limit" {...bind("turns")} />
          </Fold>
          {create.isError && count === 0 && <Problem error={create.error} what="The sandbox was not created" />}
          <div className="sticky bottom-0 -mx-4 flex items-center gap-4 border-t border-line bg-paper px-4 py-3 md:mx-0 md:px-0">
            <ComplaintList complaints={complaints} form={form} />
            <span className="hidden text-2xs text-ink-3 sm:inline">{MOD} Enter</span>
            <Button type="submit" look="solid" disabled={create.isPending} className="max-md:h-11">
              {create.isPending && <LoaderCircle size={15} className="animate-spin" />} Create sandbox
            </Button>
          </div>
        </form>
        <div className="flex min-w-0 flex-col gap-6 xl:sticky xl:top-6 xl:self-start">
          <Outlook draft={draft} />
          <Estimate draft={draft} />
          <Equivalent draft={draft} />
        </div>
      </div>
      <Suspense>{isExternal && <NewExternal isOpen onClose={() => setExternal(false)} />}</Suspense>
    </Page>
  );
}
