/** Sandboxes that this server runs for another Drover: no rows of its own, only what the provider holds under the caller's name. */
import { createHash } from "node:crypto";
import { AppError, type HostedRequest } from "@drover/contract";
import { z } from "zod";
import type { Labels, SandboxProvider, SandboxRef, SandboxSpec } from "../ports/sandbox-provider.ts";
import type { Person } from "./credential.ts";
import type { Deps } from "./deps.ts";

/** None of the labels by which this server finds its own: what is hosted is never taken for one of those. */
const LABEL = { owner: "drover.hosted_for", key: "drover.hosted_key", labels: "drover.hosted_labels" } as const;
const LabelMap = z.record(z.string(), z.string());
const KEY_CHARACTERS = 32;
/** Providers that find a sandbox by its key alone. */
const HOSTS: ReadonlySet<string> = new Set(["local", "docker"]);

export interface Hosting {
  readonly provider: SandboxProvider;
  /** The sandbox of a key, as the provider here knows it. */
  toRef(key: string): SandboxRef;
  ensure(request: Extract<HostedRequest, { op: "ensure" }>, signal: AbortSignal): Promise<SandboxRef>;
  list(labels: Labels, signal: AbortSignal): Promise<readonly SandboxRef[]>;
}

const isMatch = (found: Labels, wanted: Labels) =>
  Object.entries(wanted).every(([name, value]) => found[name] === value);

/** Whoever may run commands in sandboxes of every project may have some here. They belong to the token's name, so that a token can be
 *  replaced by another one of that name, and nobody sees those of another name. */
export async function openHosting(deps: Deps, person: Person): Promise<Hosting> {
  if (person.grant.projectId !== null || person.grant.role === "viewer")
    throw new AppError("auth.forbidden", "only an operator of all projects may have sandboxes here");
  const { provider: name } = deps.config;
  if (!HOSTS.has(name))
    throw new AppError("provider.unavailable", `this server has no sandboxes of its own: its provider is ${name}`);
  const provider = await deps.providers.open(name);
  const toHostKey = (key: string) =>
    `hosted-${createHash("sha256").update(`${person.name}\0${key}`).digest("hex").slice(0, KEY_CHARACTERS)}`;
  const toRef = (key: string): SandboxRef => ({ key: toHostKey(key), id: toHostKey(key), labels: {} });
  /** Undefined for one of another owner. */
  const toCallers = ({ id, labels }: SandboxRef): SandboxRef | undefined =>
    labels[LABEL.owner] === person.name
      ? { key: labels[LABEL.key] ?? "", id, labels: LabelMap.parse(JSON.parse(labels[LABEL.labels] ?? "{}")) }
      : undefined;
  return {
    provider,
    toRef,
    ensure: async ({ op: _op, key, labels, image, snapshot, ...rest }, signal) => {
      const spec: SandboxSpec = {
        ...rest,
        key: toHostKey(key),
        labels: { [LABEL.owner]: person.name, [LABEL.key]: key, [LABEL.labels]: JSON.stringify(labels) },
        ...(image === undefined ? {} : { image }),
        ...(snapshot === undefined ? {} : { snapshot }),
      };
      const { id } = await provider.ensure(spec, signal);
      deps.log.info("hosted.ensured", { owner: person.name, key, id });
      return { key, id, labels };
    },
    list: async (labels, signal) =>
      (await provider.list({ [LABEL.owner]: person.name }, signal)).flatMap((found) => {
        const ref = toCallers(found);
        return ref !== undefined && isMatch(ref.labels, labels) ? [ref] : [];
      }),
  };
}
