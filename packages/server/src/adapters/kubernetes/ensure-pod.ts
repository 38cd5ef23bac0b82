/** The one pod of a key: found or made behind its network policy, until commands can run in it; and gone, when that is certain. */
import { setTimeout } from "node:timers/promises";
import { AppError } from "@drover/contract";
import type { V1Pod } from "@kubernetes/client-node";
import type { SandboxSpec } from "../../ports/sandbox-provider.ts";
import type { Client } from "./client.ts";
import { parseAnnotations, toName } from "./names.ts";
import { toNetworkPolicy, type PolicyOptions } from "./network-policy.ts";
import { toPod, type PodOptions } from "./pod.ts";
import { toMeaning } from "./pod-state.ts";
import { runInside } from "./run-inside.ts";

export interface EnsureOptions extends PodOptions, PolicyOptions {
  readonly timeoutSeconds: number;
}

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;
/** The smallest with which the node confirms that all processes have ended; with 0 only the object would be gone. */
const GRACE_SECONDS = 1;
const ANSWER_BYTES = 1_000;
/** As the user that commands have, with the Node that they need. 3: it may not write to its workspace. */
const PREPARE = `try { require("node:fs").accessSync("/workspace", 2); console.log("{}"); process.exit(0); } catch { process.exit(3); }`;

/** Longer pauses each time, until the time is over. */
async function* everySoOften(timeoutSeconds: number, signal: AbortSignal): AsyncGenerator<void> {
  const until = performance.now() + timeoutSeconds * 1_000;
  for (let pause = FIRST_PAUSE_MS; performance.now() < until; pause = Math.min(pause * 1.5, LONGEST_PAUSE_MS)) {
    yield;
    await setTimeout(pause, undefined, { signal });
  }
}

export const findPod = (client: Client, name: string, signal: AbortSignal): Promise<V1Pod | undefined> =>
  client.find(signal, (given) => client.pods.readNamespacedPod({ name, namespace: client.namespace }, given));

/** Somebody else made it in this moment: that is as good. */
const orThere = (client: Client) => (error: unknown) => {
  if (error instanceof client.library.ApiException && error.code === 409) return undefined;
  throw error;
};

const missing = (client: Client, cause: unknown) =>
  new AppError(
    "sandbox.rejected",
    `Kubernetes has no namespace ${client.namespace}: kubectl create namespace ${client.namespace}`,
    { cause },
  );

/** The policy comes first: no moment in which the pod reaches more than it may. One that is there is brought to what is wanted now. */
async function create(client: Client, spec: SandboxSpec, options: EnsureOptions, signal: AbortSignal): Promise<void> {
  const { namespace, policies, pods } = client;
  const policy = toNetworkPolicy(spec, namespace, options);
  const strict = { namespace, fieldValidation: "Strict" } as const;
  const orRefuse = (error: unknown) => {
    if (error instanceof client.library.ApiException && error.code === 404) throw missing(client, error);
    return orThere(client)(error);
  };
  const made = await client.call(signal, (given) =>
    policies.createNamespacedNetworkPolicy({ ...strict, body: policy }, given).catch(orRefuse),
  );
  if (made === undefined)
    await client.call(signal, (given) =>
      policies.replaceNamespacedNetworkPolicy({ ...strict, name: toName(spec.key), body: policy }, given),
    );
  const body = toPod(spec, namespace, options);
  await client.call(signal, (given) => pods.createNamespacedPod({ ...strict, body }, given).catch(orRefuse));
}

/** Only the pod that was seen, never a later one of the same name. */
async function removePod(client: Client, pod: V1Pod, signal: AbortSignal): Promise<void> {
  const name = pod.metadata?.name ?? "";
  const uid = pod.metadata?.uid;
  const body = { gracePeriodSeconds: GRACE_SECONDS, ...(uid !== undefined && { preconditions: { uid } }) };
  await client.find(signal, (given) =>
    client.pods.deleteNamespacedPod({ name, namespace: client.namespace, body }, given).catch(orThere(client)),
  );
}

/** Resolves when the node has confirmed that nothing of it runs. */
export async function destroyPod(
  client: Client,
  name: string,
  timeoutSeconds: number,
  signal: AbortSignal,
): Promise<void> {
  let doomed: string | undefined;
  const isGone = async () => {
    const pod = await findPod(client, name, signal);
    doomed ??= pod?.metadata?.uid;
    if (pod === undefined || pod.metadata?.uid !== doomed) return true;
    if (pod.metadata?.deletionTimestamp === undefined) await removePod(client, pod, signal);
    return false;
  };
  for await (const _look of everySoOften(timeoutSeconds, signal)) {
    if (!(await isGone())) continue;
    await client.find(signal, (given) =>
      client.policies.deleteNamespacedNetworkPolicy({ name, namespace: client.namespace }, given),
    );
    return;
  }
  throw new AppError("sandbox.unavailable", "Kubernetes: the pod's node does not confirm that it has ended");
}

async function prepare(client: Client, name: string, signal: AbortSignal): Promise<void> {
  await runInside(client, name, { program: PREPARE, order: {} }, ANSWER_BYTES, signal);
}

function requireOurs(pod: V1Pod, key: string): void {
  if (parseAnnotations(pod.metadata?.annotations)?.key === key) return;
  throw new AppError("sandbox.rejected", `Kubernetes: pod ${pod.metadata?.name} is there and is not ours`);
}

export async function ensurePod(
  client: Client,
  spec: SandboxSpec,
  options: EnsureOptions,
  signal: AbortSignal,
): Promise<string> {
  const name = toName(spec.key);
  let last: string | null = null;
  for await (const _look of everySoOften(options.timeoutSeconds, signal)) {
    const pod = await findPod(client, name, signal);
    if (pod === undefined) {
      await create(client, spec, options, signal);
      continue;
    }
    requireOurs(pod, spec.key);
    const { kind, reason } = toMeaning(pod);
    last = reason;
    switch (kind) {
      case "ready":
        await prepare(client, name, signal);
        return name;
      case "ended":
        await removePod(client, pod, signal);
        break;
      case "refused":
        await destroyPod(client, name, options.timeoutSeconds, signal);
        throw new AppError("sandbox.rejected", `Kubernetes: ${reason}`);
      case "coming":
      case "leaving":
        break;
    }
  }
  throw new AppError("sandbox.unavailable", `Kubernetes: the pod is not ready in time: ${last ?? "it is being made"}`);
}
