/** Before anything is made: what will happen, in order, and what is missing for it. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { CircleAlert } from "lucide-react";
import { packagesQuery } from "../agents/queries.ts";
import { projectsQuery, providersQuery } from "../data/queries.ts";
import type { Draft } from "./draft.ts";

const PROVIDERS: Readonly<Record<string, string>> = {
  local: "on this machine",
  docker: "in a container",
  daytona: "at Daytona",
  kubernetes: "as a pod of the cluster",
};
const NETWORKS: Readonly<Record<string, string>> = {
  none: "without a network",
  allowlist: "that reaches only the hosts listed",
  open: "with an open network",
};
const MODES: Readonly<Record<string, string>> = {
  acceptEdits: "may edit files unasked",
  default: "asks before it does anything",
  plan: "only plans",
  dontAsk: "never asks, and does not do what it would have to ask for",
  bypassPermissions: "may do everything unasked",
};
const ANSWERS: Readonly<Record<string, string>> = {
  allow: "What it asks for is allowed.",
  deny: "What it asks for is refused.",
  ask: "What it asks for waits on the wall for a person.",
};

const join = (parts: readonly (string | false | undefined)[]): string => parts.filter(Boolean).join(", ");

/** The sentences that tell what the request leads to. */
function toSteps(draft: Draft, names: { readonly project: string; readonly agent: string; readonly provider: string }) {
  const limits = join([
    draft.memory !== "" && `${draft.memory} GiB of memory`,
    draft.cpu !== "" && `${draft.cpu} cores`,
    draft.disk !== "" && `${draft.disk} GiB of disk`,
  ]);
  const ends = join([
    draft.budget !== "" && `$${draft.budget} are spent`,
    draft.minutes !== "" && `${draft.minutes} minutes are over`,
    draft.turns !== "" && `${draft.turns} turns are done`,
  ]);
  return [
    `A sandbox is made ${PROVIDERS[names.provider] ?? `by ${names.provider}`}${draft.network === "" ? "" : `, ${NETWORKS[draft.network] ?? ""}`}${limits === "" ? "" : `, with ${limits}`}. It belongs to ${names.project}.`,
    draft.repo.trim() === ""
      ? `The project's repository is put into it${draft.branch === "" ? "" : `, from ${draft.branch}`}, if it has one.`
      : `${draft.repo.trim()} is put into it${draft.branch === "" ? "" : `, from ${draft.branch}`}.`,
    `${names.agent} begins${draft.model === "" ? "" : ` with ${draft.model}`}${draft.mode === "" ? "" : `, and ${MODES[draft.mode] ?? ""}`}. ${ANSWERS[draft.policy] ?? ""}`,
    ends === "" ? "It works until it is done or you end it." : `It works until it is done, or until ${ends}.`,
  ];
}

export function Outlook({ draft }: { readonly draft: Draft }) {
  const projects = useQuery(projectsQuery);
  const packages = useQuery(packagesQuery);
  const providers = useQuery(providersQuery);
  const project = projects.data?.items.find((one) =>
    draft.project === "" ? one.is_default : one.id === draft.project,
  );
  const provider = providers.data?.items.find((one) =>
    draft.provider === ""
      ? one.name === (project?.settings.provider ?? one.name) && one.is_default
      : one.name === draft.provider,
  );
  const agent = packages.data?.items.find(({ name }) => name === draft.runtime);
  const steps = toSteps(draft, {
    project: project?.name ?? "its project",
    agent: agent?.title ?? draft.runtime,
    provider: provider?.name ?? (draft.provider || "the provider that is configured"),
  });
  const missing = provider !== undefined && !provider.is_ready ? provider.problem : null;
  return (
    <section aria-label="What will happen">
      <h2 className="mb-2 text-xs font-semibold text-ink-3">What will happen</h2>
      <ol className="flex flex-col gap-2 rounded-xl border border-line bg-surface px-4 py-3">
        {steps.map((step, at) => (
          <li key={step} className="flex gap-3 text-sm text-pretty">
            <span aria-hidden className="w-3 shrink-0 text-ink-3 tabular-nums">
              {at + 1}
            </span>
            <span className="min-w-0 break-words text-ink-2">{step}</span>
          </li>
        ))}
      </ol>
      {missing !== null && (
        <p
          role="status"
          className="mt-2 flex items-start gap-2 rounded-xl border border-wait/50 bg-wait-soft px-3 py-2 text-xs break-words text-wait-ink"
        >
          <CircleAlert size={14} aria-hidden className="mt-0.5 shrink-0" />
          <span className="min-w-0">
            {provider?.name} cannot make it now: {missing}{" "}
            <Link to="/settings" search={{ section: "providers" }} className="font-medium underline underline-offset-2">
              Providers
            </Link>
          </span>
        </p>
      )}
    </section>
  );
}
