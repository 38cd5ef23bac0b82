/** What the cluster says of a pod, in our words. */
import type { V1ContainerStatus, V1Pod } from "@kubernetes/client-node";
import { CONTAINER } from "./pod.ts";

export type PodKind = "ready" | "coming" | "leaving" | "ended" | "refused";

export interface PodMeaning {
  readonly kind: PodKind;
  /** For people; null while it runs. */
  readonly reason: string | null;
  readonly isOomKilled: boolean;
}

/** Why a container waits although waiting does not help. An image that is not there is asked for again by the cluster, ever more seldom. */
const HOPELESS: ReadonlySet<string> = new Set([
  "InvalidImageName",
  "ErrImageNeverPull",
  "ErrImagePull",
  "ImagePullBackOff",
  "ImageInspectError",
  "CreateContainerConfigError",
  "CreateContainerError",
  "RunContainerError",
]);

const say = (reason: string | undefined, message: string | undefined, otherwise: string): string =>
  [reason, message].filter((word) => word !== undefined && word !== "").join(": ") || otherwise;

const findStatus = (pod: V1Pod): V1ContainerStatus | undefined =>
  pod.status?.containerStatuses?.find(({ name }) => name === CONTAINER);

function toEnd(pod: V1Pod, status: V1ContainerStatus | undefined): string {
  const ended = status?.state?.terminated;
  // Eviction and deadlines are told of the pod, an end of its process of the container.
  if (ended === undefined) return say(pod.status?.reason, pod.status?.message, "It ended");
  const how = ended.signal === undefined || ended.signal === 0 ? `code ${ended.exitCode}` : `signal ${ended.signal}`;
  return `${say(ended.reason, ended.message, "It ended")} (${how})`;
}

export function toMeaning(pod: V1Pod): PodMeaning {
  const status = findStatus(pod);
  const isOomKilled = [status?.state, status?.lastState].some((state) => state?.terminated?.reason === "OOMKilled");
  const is = (kind: PodKind, reason: string | null): PodMeaning => ({ kind, reason, isOomKilled });
  if (pod.metadata?.deletionTimestamp !== undefined) return is("leaving", "It is being removed");
  const { phase } = pod.status ?? {};
  if (phase === "Failed" || phase === "Succeeded" || status?.state?.terminated !== undefined)
    return is("ended", toEnd(pod, status));
  if (phase === "Running" && status?.state?.running !== undefined) return is("ready", null);
  const waiting = status?.state?.waiting;
  if (waiting?.reason !== undefined && HOPELESS.has(waiting.reason))
    return is("refused", say(waiting.reason, waiting.message, "It cannot start"));
  const unplaced = pod.status?.conditions?.find((one) => one.type === "PodScheduled" && one.status === "False");
  if (unplaced !== undefined) return is("coming", say(unplaced.reason, unplaced.message, "No node has room for it"));
  return is("coming", say(waiting?.reason, waiting?.message, "It is being made"));
}
