/** How a sandbox is named at its provider: one name per generation, and labels by which it is found again. */
import type { ResolvedResources, SandboxId } from "@drover/contract";
import type { SandboxLimits, SandboxRef, SandboxSpec } from "../ports/sandbox-provider.ts";
import type { SandboxRow } from "../store/sandboxes.ts";

const GIBIBYTE = 1024 ** 3;
const PROCESSES = 512;

export const toKey = (id: SandboxId, generation: number): string => `${id}-g${generation}`;

const toLabels = (installation: string, row: Pick<SandboxRow, "id" | "generation">) => ({
  "drover.installation": installation,
  "drover.sandbox": row.id,
  "drover.generation": String(row.generation),
});

export const installationLabels = (installation: string) => ({ "drover.installation": installation });

/** What a provider's labels say; undefined for something that is not ours. */
export function parseLabels(
  ref: SandboxRef,
): { readonly sandboxId: SandboxId; readonly generation: number } | undefined {
  const { "drover.sandbox": sandboxId, "drover.generation": generation } = ref.labels;
  return sandboxId === undefined || generation === undefined
    ? undefined
    : { sandboxId: sandboxId as SandboxId, generation: Number(generation) };
}

export const toLimits = (resources: Pick<ResolvedResources, "memory_gb" | "cpu" | "disk_gb">): SandboxLimits => ({
  memoryBytes: Math.round(resources.memory_gb.value * GIBIBYTE),
  cpus: resources.cpu.value,
  diskBytes: Math.round(resources.disk_gb.value * GIBIBYTE),
  processes: PROCESSES,
});

/** Anything else than the two words that open it keeps it closed. */
export const toNetwork = (text: string): "none" | "allowlist" | "open" =>
  text === "allowlist" || text === "open" ? text : "none";

export function toSpec(installation: string, row: SandboxRow): SandboxSpec {
  const env = row.spec["env"];
  const image = row.spec["image"];
  const snapshot = row.spec["snapshot"];
  return {
    key: toKey(row.id, row.generation),
    labels: toLabels(installation, row),
    limits: toLimits(row.resources),
    network: toNetwork(row.network),
    env: typeof env === "object" && env !== null ? (env as Record<string, string>) : {},
    ...(typeof image === "string" ? { image } : {}),
    ...(typeof snapshot === "string" ? { snapshot } : {}),
  };
}

export const toRef = (installation: string, row: SandboxRow): SandboxRef => ({
  key: toKey(row.id, row.generation),
  id: row.provider_id ?? toKey(row.id, row.generation),
  labels: toLabels(installation, row),
});
