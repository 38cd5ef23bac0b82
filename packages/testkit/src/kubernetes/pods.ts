/** Pods as a cluster keeps them: an object with a status that follows what its processes do. */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { Socket } from "node:net";
import type { V1Pod, V1PodStatus } from "@kubernetes/client-node";
import { expand, openCell, toEnv, type Cell } from "./cell.ts";
import type { FaultPlan } from "./faults.ts";
import { CHANNEL, ignoreErrors, readFrames } from "./frames.ts";

/** As it goes over the wire: times are text there. */
export type Wire<Value> = Value extends Date
  ? string
  : Value extends readonly (infer Item)[]
    ? Wire<Item>[]
    : Value extends object
      ? { [Key in keyof Value]: Wire<Value[Key]> }
      : Value;

interface Held {
  readonly pod: V1Pod;
  readonly cell: Cell;
}

export interface Pods {
  create(pod: V1Pod): V1Pod;
  find(name: string): V1Pod | undefined;
  list(): readonly V1Pod[];
  /** Begins its end; it is gone when its processes are. */
  remove(name: string): V1Pod;
  /** Undefined while it does not run. */
  execute(name: string, command: readonly string[], tty: boolean): Socket | undefined;
  /** As the kernel does: its first process is killed for memory. */
  killForMemory(name: string): void;
  close(): Promise<void>;
}

const now = () => new Date().toISOString() as unknown as Date;
const OOM_CODE = 137;

export function openPods(directory: string, faults: FaultPlan): Pods {
  const held = new Map<string, Held>();
  const underway = new Set<Promise<void>>();
  let version = 1;

  const setStatus = (pod: V1Pod, status: V1PodStatus) => {
    pod.status = status;
    version += 1;
    Object.assign(pod.metadata ?? {}, { resourceVersion: String(version) });
  };
  const toContainerStatus = (pod: V1Pod, state: object, isReady = false) => {
    const [{ name, image = "" } = { name: "" }] = pod.spec?.containers ?? [];
    return [{ name, image, imageID: `${image}@emulated`, ready: isReady, restartCount: 0, started: isReady, state }];
  };
  const end = (pod: V1Pod, exitCode: number, reason: string) =>
    setStatus(pod, {
      phase: exitCode === 0 ? "Succeeded" : "Failed",
      containerStatuses: toContainerStatus(pod, {
        terminated: { exitCode, reason, startedAt: now(), finishedAt: now(), containerID: "emulated://1" },
      }),
    });

  /** The first process of the pod: its end is the pod's. */
  const runFirst = ({ pod, cell }: Held) => {
    const [container] = pod.spec?.containers ?? [];
    if (container === undefined) return;
    const env = toEnv(container);
    const command = [...(container.command ?? []), ...(container.args ?? [])].map((word) => expand(word, env));
    const socket = cell.execute({ command, env, cwd: container.workingDir ?? "/", tty: false });
    ignoreErrors(socket);
    const onStatus = (payload: Buffer) => {
      const { status, details } = JSON.parse(payload.toString());
      const code = status === "Success" ? 0 : Number(details?.causes?.[0]?.message ?? 1);
      if (pod.status?.phase === "Running") end(pod, code, code === 0 ? "Completed" : "Error");
    };
    socket.on(
      "data",
      readFrames((channel, payload) => {
        if (channel === CHANNEL.status) onStatus(payload);
      }),
    );
  };

  const begin = async (made: Held): Promise<void> => {
    const { pod, cell } = made;
    const waiting = (reason: string, message: string) =>
      setStatus(pod, { phase: "Pending", containerStatuses: toContainerStatus(pod, { waiting: { reason, message } }) });
    const unplaced = faults.takeUnschedulable();
    if (unplaced !== undefined) {
      const condition = { type: "PodScheduled", status: "False", reason: "Unschedulable", message: unplaced };
      setStatus(pod, { phase: "Pending", conditions: [condition] });
      return;
    }
    waiting("ContainerCreating", "");
    await faults.startAllowed();
    const image = pod.spec?.containers[0]?.image ?? "";
    if (image.includes("not-there")) {
      waiting("ErrImagePull", `pull access denied for ${image}`);
      return;
    }
    await cell.start();
    if (pod.metadata?.deletionTimestamp !== undefined) return;
    const running = { running: { startedAt: now() } };
    setStatus(pod, { phase: "Running", startTime: now(), containerStatuses: toContainerStatus(pod, running, true) });
    runFirst(made);
  };

  const follow = (work: Promise<void>) => {
    underway.add(work);
    void work.finally(() => underway.delete(work));
  };

  return {
    create: (given) => {
      const uid = randomUUID();
      const pod: V1Pod = Object.assign(structuredClone(given), { status: { phase: "Pending" } });
      version += 1;
      Object.assign((pod.metadata ??= {}), { uid, creationTimestamp: now(), resourceVersion: String(version) });
      const [container] = pod.spec?.containers ?? [];
      if (container === undefined) throw new Error("a pod without a container passed the schema");
      const made = { pod, cell: openCell(pod, container, join(directory, uid)) };
      held.set(pod.metadata?.name ?? "", made);
      follow(begin(made).catch((error: unknown) => setStatus(pod, { phase: "Failed", message: String(error) })));
      return pod;
    },
    find: (name) => held.get(name)?.pod,
    list: () => [...held.values()].map(({ pod }) => pod),
    remove: (name) => {
      const { pod, cell } = held.get(name) as Held;
      if (pod.metadata?.deletionTimestamp !== undefined) return pod;
      Object.assign(pod.metadata ?? {}, { deletionTimestamp: now(), deletionGracePeriodSeconds: 1 });
      follow(
        faults
          .removalAllowed()
          .then(() => cell.remove())
          .then(() => void held.delete(name)),
      );
      return pod;
    },
    execute: (name, command, tty) => {
      const found = held.get(name);
      const [container] = found?.pod.spec?.containers ?? [];
      const isRunning = found?.pod.status?.phase === "Running" && found.pod.metadata?.deletionTimestamp === undefined;
      if (found === undefined || container === undefined || !isRunning) return undefined;
      return found.cell.execute({ command, env: toEnv(container), cwd: container.workingDir ?? "/", tty });
    },
    killForMemory: (name) => {
      const found = held.get(name) as Held;
      end(found.pod, OOM_CODE, "OOMKilled");
    },
    close: async () => {
      for (const { cell } of held.values()) await cell.remove();
      await Promise.allSettled(underway);
      for (const { cell } of held.values()) await cell.remove();
    },
  };
}
