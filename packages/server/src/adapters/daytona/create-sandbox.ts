/** The one sandbox of a key: found, made, or started again, until commands can run in it. */
import { createHash } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { AppError } from "@drover/contract";
import type { CreateSandboxBaseParams, Sandbox } from "@daytona/sdk";
import type { SandboxLimits, SandboxSpec } from "../../ports/sandbox-provider.ts";
import type { Client } from "./client.ts";
import { toMeaning } from "./sandbox-state.ts";
import { PREPARE_COMMAND } from "./in-sandbox.ts";

export interface CreateOptions {
  /** Preferred. Its cpu, memory and disk are part of it: Daytona refuses others beside a snapshot. */
  readonly snapshot: string;
  /** Used when the snapshot does not exist. */
  readonly image: string | undefined;
  readonly timeoutSeconds: number;
}

/** Found again by any replica. */
export const KEY_LABEL = "key";
/** Looks again after somebody else acted, a little later each time; six seconds in all. */
const ROUNDS = 12;
const PAUSE_MS = 100;
const GIB = 1024 ** 3;
/** What Daytona gives to one sandbox at most. */
const CAPS = { cpu: 4, memory: 8, disk: 10 } as const;
/** A stopped sandbox that everybody forgot is deleted after 30 days. */
const FORGOTTEN_MINUTES = 30 * 24 * 60;

const clamp = (wanted: number, cap: number) => Math.min(Math.max(Math.ceil(wanted), 1), cap);

const toResources = (limits: SandboxLimits) => ({
  cpu: clamp(limits.cpus, CAPS.cpu),
  memory: clamp(limits.memoryBytes / GIB, CAPS.memory),
  disk: clamp(limits.diskBytes / GIB, CAPS.disk),
});

/** Unique at Daytona, so that of two creators one is refused; never an address: those are Daytona's own ids. */
const toName = (key: string) => `drover-${createHash("sha256").update(key).digest("hex").slice(0, 32)}`;

const toParams = (spec: SandboxSpec): CreateSandboxBaseParams => ({
  name: toName(spec.key),
  labels: { ...spec.labels, [KEY_LABEL]: spec.key },
  envVars: { ...spec.env },
  public: false,
  // Daytona sees activity at its API only, so it would stop an agent at work.
  autoStopInterval: 0,
  autoPauseInterval: 0,
  autoDeleteInterval: FORGOTTEN_MINUTES,
});

async function createOnce({ sdk, daytona }: Client, spec: SandboxSpec, options: CreateOptions): Promise<Sandbox> {
  const params = toParams(spec);
  const timeout = { timeout: options.timeoutSeconds };
  const fromImage = (image: string) =>
    daytona.create({ ...params, image, resources: toResources(spec.limits) }, timeout);
  const fallback = spec.snapshot === undefined ? options.image : undefined;
  if (spec.image !== undefined) return fromImage(spec.image);
  const snapshot = spec.snapshot ?? options.snapshot;
  try {
    return await daytona.create({ ...params, snapshot }, timeout);
  } catch (error) {
    // A missing snapshot is a plain 400, so ask for it by name.
    if (!(error instanceof sdk.DaytonaBadRequestError || error instanceof sdk.DaytonaNotFoundError)) throw error;
    const isThere = await daytona.snapshot.get(snapshot).then(
      (found) => found.state === sdk.SnapshotState.ACTIVE,
      (cause: unknown) => {
        if (cause instanceof sdk.DaytonaNotFoundError) return false;
        throw cause;
      },
    );
    if (isThere) throw error;
    if (fallback !== undefined) return fromImage(fallback);
    throw new AppError(
      "sandbox.rejected",
      `Daytona has no snapshot ${snapshot}: set DAYTONA_SNAPSHOT or DAYTONA_IMAGE`,
      {
        cause: error,
      },
    );
  }
}

/** By label, and by name when the list lags behind. */
async function find({ sdk, daytona }: Client, key: string): Promise<Sandbox | undefined> {
  for await (const sandbox of daytona.list({ labels: { [KEY_LABEL]: key } }))
    if (toMeaning(sandbox.state).kind !== "gone") return daytona.get(sandbox.id);
  return daytona.get(toName(key)).catch((error: unknown) => {
    if (error instanceof sdk.DaytonaNotFoundError) return undefined;
    throw error;
  });
}

/** Says what Daytona said of a sandbox that will never run, and clears it away for the next attempt. */
async function refuseBroken(sandbox: Sandbox, timeoutSeconds: number): Promise<never> {
  const isFinal = sandbox.state === "build_failed";
  const text = sandbox.errorReason ?? toMeaning(sandbox.state).reason;
  // Expected: Daytona is still at it. The next attempt finds it and clears it away.
  await sandbox.delete(timeoutSeconds, true).catch(() => undefined);
  throw new AppError(isFinal ? "sandbox.rejected" : "sandbox.unavailable", `Daytona: ${text}`);
}

async function create(client: Client, spec: SandboxSpec, options: CreateOptions): Promise<Sandbox | undefined> {
  try {
    return await createOnce(client, spec, options);
  } catch (error) {
    // Somebody else made it in this moment.
    if (error instanceof client.sdk.DaytonaConflictError) return undefined;
    if (error instanceof AppError || (error instanceof client.sdk.DaytonaError && error.statusCode !== undefined))
      throw error;
    const broken = await find(client, spec.key);
    if (broken !== undefined && toMeaning(broken.state).kind === "broken")
      await refuseBroken(broken, options.timeoutSeconds);
    throw error;
  }
}

/** Undefined when it turned out to be of no use and the next round decides anew. */
async function wake(sandbox: Sandbox, timeoutSeconds: number): Promise<Sandbox | undefined> {
  switch (toMeaning(sandbox.state).kind) {
    case "ready":
      return sandbox;
    case "coming":
      await sandbox.waitUntilStarted(timeoutSeconds);
      return sandbox;
    case "asleep":
      await sandbox.start(timeoutSeconds);
      return sandbox;
    case "leaving":
      if (sandbox.state === "stopping") await sandbox.waitUntilStopped(timeoutSeconds);
      return undefined;
    case "broken":
      await sandbox.delete(timeoutSeconds, true);
      return undefined;
    case "gone":
      return undefined;
  }
}

async function prepare(sandbox: Sandbox): Promise<void> {
  const { exitCode } = await sandbox.process.executeCommand(PREPARE_COMMAND);
  if (exitCode === 0) return;
  throw new AppError(
    "sandbox.rejected",
    exitCode === 3
      ? "The image has no Node: the worker and every command need it"
      : "The image has no directory /workspace that its user may write to",
  );
}

export async function ensureSandbox(client: Client, spec: SandboxSpec, options: CreateOptions): Promise<Sandbox> {
  for (let round = 0; round < ROUNDS; round += 1) {
    const found = await find(client, spec.key);
    const sandbox =
      found === undefined ? await create(client, spec, options) : await wake(found, options.timeoutSeconds);
    if (sandbox === undefined) {
      await setTimeout(round * PAUSE_MS);
      continue;
    }
    await prepare(sandbox);
    return sandbox;
  }
  throw new AppError("sandbox.unavailable", "Daytona: the sandbox keeps changing its state");
}
