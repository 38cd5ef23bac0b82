/** Agents on demand: installed, listed, removed, and brought into sandboxes. */
import { AGENT_PINS, AGENTS_INSIDE, AppError, isAgentName, type AgentName, type AgentPackage } from "@drover/contract";
import type { AgentMount, SandboxProvider, SandboxRef } from "../ports/sandbox-provider.ts";
import { insertAudit } from "../store/audit.ts";
import type { SandboxRow } from "../store/sandboxes.ts";
import type { Person } from "./credential.ts";
import type { Deps } from "./deps.ts";

type Installed = Pick<Deps, "agents">;

/** Where an agent is put that neither a mount nor the image brings. */
const BROUGHT = "/tmp/drover/agents";

/** What is installed is run in everybody's sandboxes. */
function requireOwner(actor: Person): void {
  if (actor.grant.projectId !== null)
    throw new AppError("auth.forbidden", "only an admin of all projects installs and removes agents");
}

const audit = (deps: Deps, actor: Person, action: string, name: AgentName) =>
  insertAudit(deps.db, {
    actor: actor.tokenId,
    action,
    target: name,
    project_id: null,
    detail: { version: AGENT_PINS[name].version },
    request_id: null,
  });

export async function listAgentPackages(deps: Deps): Promise<{ items: AgentPackage[] }> {
  return { items: [...(await deps.agents.list())] };
}

export async function installAgentPackage(deps: Deps, actor: Person, name: AgentName): Promise<AgentPackage> {
  requireOwner(actor);
  await audit(deps, actor, "agent.install", name);
  return deps.agents.install(name);
}

export async function removeAgentPackage(deps: Deps, actor: Person, name: AgentName): Promise<AgentPackage> {
  requireOwner(actor);
  await audit(deps, actor, "agent.remove", name);
  return deps.agents.remove(name);
}

/** Refuses a runtime whose agent is not here, and says what to do about it. */
export async function requireRuntime(deps: Installed, runtime: string | undefined): Promise<void> {
  if (runtime === undefined || !isAgentName(runtime) || (await deps.agents.find(runtime)) !== undefined) return;
  const { title, version } = AGENT_PINS[runtime];
  const detail = `${title} ${version} is not installed; install it with: drover agents install ${runtime} (or POST /api/v1/agents/packages/${runtime}/install)`;
  throw new AppError("runtime.unavailable", detail, { fields: [{ path: "runtime", message: "is not installed" }] });
}

/** What the provider is to show inside, for a runtime that needs an agent. */
export async function findAgentMounts(
  deps: Installed,
  provider: SandboxProvider,
  { runtime }: Pick<SandboxRow, "runtime">,
): Promise<{ readonly agents?: readonly AgentMount[] }> {
  if (runtime === null || !isAgentName(runtime) || !provider.capabilities.mounts) return {};
  const directory = await deps.agents.find(runtime);
  return directory === undefined ? {} : { agents: [{ name: runtime, directory }] };
}

async function run(provider: SandboxProvider, ref: SandboxRef, argv: [string, ...string[]], signal: AbortSignal) {
  for await (const event of provider.exec(ref, { argv, cwd: "/" }, signal))
    if (event.type === "exit") return event.code === 0;
  return false;
}

/** The directory of agents inside: mounted or in the image, else ours, packed and uploaded. */
export async function ensureAgentInside(
  deps: Installed,
  provider: SandboxProvider,
  ref: SandboxRef,
  { runtime }: Pick<SandboxRow, "runtime">,
  signal: AbortSignal,
): Promise<string> {
  if (runtime === null || !isAgentName(runtime) || provider.capabilities.mounts) return AGENTS_INSIDE;
  const { entry } = AGENT_PINS[runtime];
  for (const directory of [AGENTS_INSIDE, BROUGHT])
    if (await run(provider, ref, ["test", "-e", `${directory}/${runtime}/${entry}`], signal)) return directory;
  const archive = `${BROUGHT}/${runtime}.tar.gz`;
  await provider.upload(ref, archive, await deps.agents.pack(runtime, signal), {}, signal);
  const script = 'mkdir -p "$1/$2" && tar -xzf "$3" -C "$1/$2" && rm "$3"';
  if (!(await run(provider, ref, ["/bin/sh", "-c", script, "sh", BROUGHT, runtime, archive], signal)))
    throw new AppError("sandbox.rejected", `the agent ${runtime} could not be unpacked in the sandbox`);
  return BROUGHT;
}
