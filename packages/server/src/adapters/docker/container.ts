/** A sandbox as a container: how it is made, named, labelled and found again. */
import { AGENTS_INSIDE, AppError } from "@drover/contract";
import type Docker from "dockerode";
import { z } from "zod";
import type { AgentMount, Labels, SandboxLimits, SandboxRef, SandboxSpec } from "../../ports/sandbox-provider.ts";
import { toEnv } from "./exec-stream.ts";
import { WORKSPACE } from "./run-command.ts";
import { KEEPER, NOTES } from "./scripts.ts";

const MIB = 1024 * 1024;
const CPU_PERIOD_MICROSECONDS = 100_000;
const TEMPORARY_LIMIT_BYTES = 1024 * MIB;
const KEY = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,120}$/;

export const HOME = "/home/agent";
export const SOCKETS = "/run/cp";

/** Labels of ours on containers. `one` repeats each label by itself, because engines filter by whole labels. */
const LABEL = {
  key: "drover.key",
  labels: "drover.labels",
  limits: "drover.limits",
  env: "drover.env",
  warm: "drover.warm",
  one: "drover.label.",
};

const LabelMap = z.record(z.string(), z.string());
const Limits = z.object({ memoryBytes: z.number(), cpus: z.number(), diskBytes: z.number(), processes: z.number() });
const Names = z.array(z.string());

export function toName(key: string): string {
  if (!KEY.test(key)) throw new AppError("sandbox.rejected", `${JSON.stringify(key)} cannot name a container`);
  return `drover-${key}`;
}

/** Names of variables that an image made by `snapshot` has from the sandbox it was taken of. */
export const parseInheritedEnv = (labels: Labels | null | undefined): readonly string[] =>
  labels?.[LABEL.env] === undefined ? [] : Names.parse(JSON.parse(labels[LABEL.env] ?? ""));

export const parseLimits = (labels: Labels): SandboxLimits => Limits.parse(JSON.parse(labels[LABEL.limits] ?? ""));

/** Who keeps a container ready, or had it until it was claimed; undefined for one that was made for its key. */
export const parseOwner = (labels: Labels): string | undefined => labels[LABEL.warm] || undefined;

export function parseRef(id: string, labels: Labels): SandboxRef {
  return { key: labels[LABEL.key] ?? "", id, labels: LabelMap.parse(JSON.parse(labels[LABEL.labels] ?? "")) };
}

export const WARM_FILTER = { label: [LABEL.warm] };

export const toFilter = (labels: Labels) => ({
  label: [LABEL.key, ...Object.entries(labels).map(([name, value]) => `${LABEL.one}${name}=${value}`)],
});

/** Each is said, also that it is not: a container has the labels of its image, and that may be a snapshot of another sandbox. */
const toLabels = (spec: SandboxSpec, owner: string | undefined): Record<string, string> => ({
  ...Object.fromEntries(Object.entries(spec.labels).map(([name, value]) => [LABEL.one + name, value])),
  [LABEL.key]: owner === undefined ? spec.key : "",
  [LABEL.warm]: owner ?? "",
  [LABEL.labels]: JSON.stringify(spec.labels),
  [LABEL.limits]: JSON.stringify(spec.limits),
  [LABEL.env]: JSON.stringify(Object.keys(spec.env)),
});

export interface ContainerSettings {
  readonly image: string;
  readonly uid: number;
  readonly gid: number;
  readonly network: string;
  readonly isRootReadOnly: boolean;
  /** The host's directory that is `/run/cp` inside. */
  readonly socketDirectory: string | undefined;
  /** Our filter of system calls as this engine takes it; undefined leaves the engine's own. */
  readonly seccomp: string | undefined;
  /** Of a container that stands ready for whoever comes. */
  readonly owner: string | undefined;
  /** Variables of the image that are not to be inherited. */
  readonly withoutEnv: readonly string[];
}

const toMounts = (socketDirectory: string | undefined, agents: readonly AgentMount[]): Docker.MountConfig =>
  [
    ...(socketDirectory === undefined ? [] : [{ Source: socketDirectory, Target: SOCKETS }]),
    ...agents.map(({ name, directory }) => ({ Source: directory, Target: `${AGENTS_INSIDE}/${name}` })),
  ].map((mount) => ({ Type: "bind", ReadOnly: true, ...mount }));

function toHostConfig({ limits, agents = [] }: SandboxSpec, settings: ContainerSettings): Docker.HostConfig {
  const temporaryBytes = Math.min(TEMPORARY_LIMIT_BYTES, Math.floor(limits.memoryBytes / 2));
  return {
    Memory: limits.memoryBytes,
    MemorySwap: limits.memoryBytes,
    // Not as `NanoCpus`: an engine refuses more than it has.
    CpuPeriod: CPU_PERIOD_MICROSECONDS,
    CpuQuota: Math.ceil(limits.cpus * CPU_PERIOD_MICROSECONDS),
    PidsLimit: limits.processes,
    Ulimits: [
      { Name: "fsize", Soft: limits.diskBytes, Hard: limits.diskBytes },
      { Name: "core", Soft: 0, Hard: 0 },
    ],
    CapDrop: ["ALL"],
    SecurityOpt: ["no-new-privileges", ...(settings.seccomp === undefined ? [] : [`seccomp=${settings.seccomp}`])],
    Init: true,
    NetworkMode: settings.network,
    ReadonlyRootfs: settings.isRootReadOnly,
    Tmpfs: {
      "/tmp": `rw,exec,nosuid,nodev,mode=1777,size=${temporaryBytes}`,
      [NOTES]: `rw,noexec,nosuid,nodev,mode=1777,size=${16 * MIB}`,
    },
    Mounts: toMounts(settings.socketDirectory, agents),
    LogConfig: { Type: "none", Config: {} },
    RestartPolicy: { Name: "no" },
  };
}

export function toContainer(spec: SandboxSpec, settings: ContainerSettings): Docker.ContainerCreateOptions {
  // Empty, not a bare name: Docker takes that for removal, but Podman for the value in its own environment.
  const emptied = Object.fromEntries(settings.withoutEnv.map((name) => [name, ""]));
  return {
    name: toName(spec.key),
    Image: settings.image,
    Entrypoint: ["sh", "-c", KEEPER],
    Cmd: [],
    Env: toEnv({ ...emptied, HOME, ...spec.env }),
    User: `${settings.uid}:${settings.gid}`,
    WorkingDir: "/",
    Hostname: "sandbox",
    Labels: toLabels(spec, settings.owner),
    // The keeper is asked through it, again and again.
    OpenStdin: true,
    StdinOnce: false,
    ...(settings.isRootReadOnly ? { Volumes: { [WORKSPACE]: {}, [HOME]: {} } } : {}),
    HostConfig: toHostConfig(spec, settings),
  };
}
