/** What the cluster tells of a sandbox, in our words. */
import type { V1Pod } from "@kubernetes/client-node";
import { z } from "zod";
import type { Labels, SandboxInfo, SandboxLimits, SandboxRef } from "../../ports/sandbox-provider.ts";
import type { Client } from "./client.ts";
import { findPod } from "./ensure-pod.ts";
import { RECORDS, REPORT } from "./inside.ts";
import { parseAnnotations, PROCESSES_ANNOTATION, toSelector } from "./names.ts";
import { CONTAINER, parseQuantity } from "./pod.ts";
import { toMeaning } from "./pod-state.ts";
import { runInside } from "./run-inside.ts";

const PAGE_SIZE = 250;
const REPORT_BYTES = 16 * 1024 * 1024;

/** A number that is not there is NaN inside, which JSON writes as null. */
const Count = z.number().nullable();
const Report = z.object({
  ended: z.array(z.object({ argv: z.array(z.string()), code: z.number().nullable(), signal: z.string().nullable() })),
  usage: z.object({ memoryBytes: Count, processes: Count }),
  isOomKilled: z.boolean(),
});

type Named = Pick<V1Pod, "metadata">;
interface Page {
  readonly items: readonly Named[];
  readonly metadata?: { readonly _continue?: string };
}

function toRef({ metadata }: Named): SandboxRef | undefined {
  const kept = parseAnnotations(metadata?.annotations);
  const id = metadata?.name;
  return kept === undefined || id === undefined ? undefined : { key: kept.key, id, labels: kept.labels };
}

async function readPages(readPage: (next: { readonly _continue?: string }) => Promise<Page>): Promise<Named[]> {
  const found: Named[] = [];
  let next: string | undefined;
  do {
    const page = await readPage(next === undefined ? {} : { _continue: next });
    found.push(...page.items);
    next = page.metadata?._continue;
  } while (next !== undefined && next !== "");
  return found;
}

/** Also policies without a pod: one is made before its pod and removed after it, so a server that died in between left it alone, and who
 *  cleans up has to find it. */
export async function listRefs(client: Client, labels: Labels, signal: AbortSignal): Promise<readonly SandboxRef[]> {
  const wanted = { namespace: client.namespace, labelSelector: toSelector(labels), limit: PAGE_SIZE };
  const policies = await readPages((next) =>
    client.call(signal, (given) => client.policies.listNamespacedNetworkPolicy({ ...wanted, ...next }, given)),
  );
  const pods = await readPages((next) =>
    client.call(signal, (given) => client.pods.listNamespacedPod({ ...wanted, ...next }, given)),
  );
  const names = new Set(pods.map(({ metadata }) => metadata?.name));
  const left = policies.filter(({ metadata }) => !names.has(metadata?.name));
  return [...pods, ...left].flatMap((object) => toRef(object) ?? []);
}

/** As the pod has them now; what runs processes of a pod is a setting of its node, of which the cluster tells nothing. */
function readLimits(pod: V1Pod): SandboxLimits {
  const limits = pod.spec?.containers.find(({ name }) => name === CONTAINER)?.resources?.limits ?? {};
  return {
    memoryBytes: parseQuantity(limits["memory"]),
    cpus: parseQuantity(limits["cpu"]),
    diskBytes: parseQuantity(limits["ephemeral-storage"]),
    processes: Number(pod.metadata?.annotations?.[PROCESSES_ANNOTATION] ?? 0),
  };
}

export async function loadInfo(client: Client, name: string, signal: AbortSignal): Promise<SandboxInfo | undefined> {
  const pod = await findPod(client, name, signal);
  if (pod === undefined) return undefined;
  const { kind, reason, isOomKilled } = toMeaning(pod);
  const policy = await client.find(signal, (given) =>
    client.policies.readNamespacedNetworkPolicy({ name, namespace: client.namespace }, given),
  );
  const report =
    kind === "ready"
      ? Report.parse(
          JSON.parse(
            (
              await runInside(client, name, { program: REPORT, order: { records: RECORDS } }, REPORT_BYTES, signal)
            ).toString(),
          ),
        )
      : undefined;
  const by = (limit: number) => (Number.isFinite(limit) ? "provider" : "none");
  const limits = readLimits(pod);
  return {
    state: kind === "ready" ? "running" : "stopped",
    reason,
    isOomKilled: isOomKilled || (report?.isOomKilled ?? false),
    limits,
    enforcedBy: {
      memory: by(limits.memoryBytes),
      cpu: by(limits.cpus),
      // By eviction: the node counts now and then.
      disk: by(limits.diskBytes),
      processes: "none",
      // Where the cluster's network plugin knows policies; it does not tell.
      network: policy === undefined ? "none" : "provider",
      isolation: "provider",
    },
    ended: report?.ended ?? [],
    usage: {
      memoryBytes: report?.usage.memoryBytes ?? null,
      diskBytes: null,
      processes: report?.usage.processes ?? null,
    },
  };
}
