/** Network policies as objects: kept by name, enforced by nobody here. */
import { randomUUID } from "node:crypto";
import type { V1NetworkPolicy } from "@kubernetes/client-node";

export interface Policies {
  put(policy: V1NetworkPolicy): V1NetworkPolicy;
  find(name: string): V1NetworkPolicy | undefined;
  list(): readonly V1NetworkPolicy[];
  remove(name: string): void;
}

export function openPolicies(): Policies {
  const held = new Map<string, V1NetworkPolicy>();
  return {
    put: (policy) => {
      const known = held.get(policy.metadata?.name ?? "")?.metadata;
      const creationTimestamp = known?.creationTimestamp ?? (new Date().toISOString() as unknown as Date);
      const kept = structuredClone(policy);
      Object.assign((kept.metadata ??= {}), { uid: known?.uid ?? randomUUID(), creationTimestamp });
      held.set(kept.metadata.name ?? "", kept);
      return kept;
    },
    find: (name) => held.get(name),
    list: () => [...held.values()],
    remove: (name) => void held.delete(name),
  };
}
