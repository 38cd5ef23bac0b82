/** How large a sandbox may be: the request wins over the configuration, and nothing exceeds the caps. */
import type { ResolvedResources } from "@drover/contract";

export type ResourceName = keyof ResolvedResources;

export const RESOURCE_CAPS: Readonly<Record<ResourceName, number>> = { memory_gb: 8, cpu: 4, disk_gb: 10 };

export function resolveResources(
  asked: { readonly [Name in ResourceName]?: number | undefined },
  configured: ResolvedResources,
): ResolvedResources {
  const pick = (name: ResourceName) => {
    const request = asked[name];
    const chosen = request === undefined ? configured[name] : { value: request, origin: "request" };
    const cap = RESOURCE_CAPS[name];
    return chosen.value <= cap ? chosen : { value: cap, origin: `${chosen.origin}, capped` };
  };
  return { memory_gb: pick("memory_gb"), cpu: pick("cpu"), disk_gb: pick("disk_gb") };
}
