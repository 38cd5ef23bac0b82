/** Opens a sandbox's way out and tells in its log what went through it. */
import {
  decideAddresses,
  decideTarget,
  emptyTally,
  foldEgress,
  pickTold,
  toEgressRule,
  toRegistryRule,
  toTarget,
  type CountedEgress,
  type EgressPolicy,
  type EgressRule,
  type EgressTally,
} from "@drover/core";
import { AppError, type Config, type SandboxId } from "@drover/contract";
import type { EgressJudge, EgressProxy, Registries } from "../ports/egress.ts";
import type { SandboxProvider, SandboxSpec } from "../ports/sandbox-provider.ts";
import type { SandboxRow } from "../store/sandboxes.ts";
import { writeSandboxEvents } from "./change-state.ts";
import type { Deps } from "./deps.ts";
import { draftSandboxEvent } from "./event-log.ts";
import { toNetwork } from "./sandbox-key.ts";

const PROXY = "http://127.0.0.1:3128";
const PROXY_ENV = {
  ...Object.fromEntries(
    ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"].flatMap((name) => [
      [name, PROXY],
      [name.toLowerCase(), PROXY],
    ]),
  ),
  NO_PROXY: "localhost,127.0.0.1",
  no_proxy: "localhost,127.0.0.1",
  NODE_USE_ENV_PROXY: "1",
};
const SHOWN_CHARACTERS = 260;
const LATER_MS = 30_000;

export interface EgressSettings {
  readonly ports: readonly number[];
  readonly rules: readonly EgressRule[];
}

export interface Egress {
  readonly proxy: EgressProxy;
  readonly registries: Registries;
  readonly settings: EgressSettings;
  /** Where this server is reached, known once it listens. */
  own(): EgressPolicy["own"];
  /** How to write what is still to be told about each sandbox whose way is open. */
  readonly flushes: Map<SandboxId, () => Promise<void>>;
}

const words = (text: string | undefined) => (text ?? "").split(/[\s,]+/).filter(Boolean);

/** Settings as rules; one that names nothing is an error, because a rule that is ignored is worse than none. */
export function parseEgressSettings(
  config: Pick<Config, "egressPorts" | "egressAllow" | "egressAllowPrivate">,
): EgressSettings {
  const ports = words(config.egressPorts).map(Number);
  if (ports.length === 0 || !ports.every((port) => Number.isInteger(port) && port > 0 && port < 65_536))
    throw new AppError("config.invalid", `sandbox.egress_ports: ${config.egressPorts} is no list of ports`);
  const toRules = (name: string, text: string | undefined, mayBePrivate: boolean) =>
    words(text).map((word) => {
      const rule = toEgressRule(word, ports, mayBePrivate);
      if (rule === undefined) throw new AppError("config.invalid", `${name}: ${word} names no host`);
      return rule;
    });
  return {
    ports,
    rules: [
      ...toRules("sandbox.egress_allow", config.egressAllow, false),
      ...toRules("sandbox.egress_allow_private", config.egressAllowPrivate, true),
    ],
  };
}

async function loadPolicy(egress: Egress, network: EgressPolicy["network"]): Promise<EgressPolicy> {
  const { ports, rules } = egress.settings;
  const registries = (await egress.registries.readAll()).flatMap((url) => toRegistryRule(url, ports) ?? []);
  return { network, rules: [...rules, ...registries], openPorts: ports, own: egress.own() };
}

const hasEgress = (provider: SandboxProvider, row: SandboxRow) =>
  provider.capabilities.egressPolicy && provider.capabilities.socketDirectory && toNetwork(row.network) !== "none";

/** Programs inside learn of the way out, where there is one. What the request set wins. */
export async function withEgressEnv(
  deps: Deps,
  provider: SandboxProvider,
  row: SandboxRow,
  spec: SandboxSpec,
): Promise<SandboxSpec> {
  if (!hasEgress(provider, row)) return spec;
  return { ...spec, env: { ...PROXY_ENV, ...(await deps.egress.registries.readEnv()), ...spec.env } };
}

/** What the inside asked for, made fit for a log: it may be anything. */
const toShown = (authority: string): { readonly host: string; readonly port: number } =>
  toTarget(authority) ?? { host: authority.slice(0, SHOWN_CHARACTERS).replaceAll(/[^\x21-\x7e]/g, "?"), port: 0 };

function openTally(deps: Deps, sandboxId: SandboxId) {
  let tally: EgressTally = emptyTally(deps.clock.now().getTime());
  let writing: Promise<void> = Promise.resolve();
  let later: NodeJS.Timeout | undefined;
  const write = (told: readonly CountedEgress[]) => {
    if (told.length === 0) return;
    writing = writing
      .then(() =>
        writeSandboxEvents(deps, sandboxId, (row) =>
          told.map((one) => draftSandboxEvent(deps.ids, row, { eventType: "sandbox.egress", data: { ...one } })),
        ),
      )
      .catch((error: unknown) => deps.log.warn("egress.not_told", { sandbox: sandboxId, reason: String(error) }));
  };
  const tell = () => {
    clearTimeout(later);
    const picked = pickTold(tally, deps.clock.now().getTime());
    tally = picked.tally;
    write(picked.told);
    if (tally.waiting.length > 0) later = setTimeout(tell, LATER_MS).unref();
  };
  return {
    note: (fact: Parameters<typeof foldEgress>[1]) => {
      tally = foldEgress(tally, fact);
      tell();
    },
    /** The last words: what still waits is little, because it is counted. */
    flush: async () => {
      clearTimeout(later);
      write(tally.waiting);
      tally = { ...tally, waiting: [] };
      await writing;
    },
  };
}

/** A policy as the proxy asks it. */
export const toJudge = (policy: () => Promise<EgressPolicy>, note: EgressJudge["note"]): EgressJudge => ({
  judgeTarget: async (authority) => {
    const target = toTarget(authority);
    const decision = decideTarget(await policy(), target);
    if (!decision.ok) return decision;
    return target === undefined ? { ok: false, reason: "not_a_host" } : { ok: true, target };
  },
  judgeAddresses: async (target, addresses) => decideAddresses(await policy(), target, addresses),
  note,
});

export async function openEgress(
  deps: Deps,
  provider: SandboxProvider,
  row: SandboxRow,
  directory: string,
): Promise<void> {
  if (!hasEgress(provider, row)) return;
  // Made when the inside first asks for something: the programs of this machine may take seconds to name their registries.
  let known: Promise<EgressPolicy> | undefined;
  const policy = () => (known ??= loadPolicy(deps.egress, toNetwork(row.network)));
  const tally = openTally(deps, row.id);
  const judge = toJudge(policy, (authority, decision, reason) =>
    tally.note({ ...toShown(authority), decision, reason }),
  );
  await closeEgress(deps, row.id);
  deps.egress.flushes.set(row.id, tally.flush);
  await deps.egress.proxy.open(row.id, directory, judge);
}

export async function closeEgress(deps: Deps, sandboxId: SandboxId): Promise<void> {
  await deps.egress.proxy.close(sandboxId);
  const flush = deps.egress.flushes.get(sandboxId);
  deps.egress.flushes.delete(sandboxId);
  await flush?.();
}
