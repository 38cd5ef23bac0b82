/** How large a sandbox may be and what it is made from: the request wins over the configuration, and nothing exceeds the caps. */
import type { Provider, ResolvedResources } from "@drover/contract";

export type ResourceName = "memory_gb" | "cpu" | "disk_gb";

const RESOURCE_CAPS: Readonly<Record<ResourceName, number>> = { memory_gb: 8, cpu: 4, disk_gb: 10 };

type Sizes = Pick<ResolvedResources, ResourceName>;
type Sources = Pick<ResolvedResources, "image" | "snapshot">;

export function resolveSizes(
  asked: { readonly [Name in ResourceName]?: number | undefined },
  configured: Sizes,
): Sizes {
  const pick = (name: ResourceName) => {
    const request = asked[name];
    const chosen = request === undefined ? configured[name] : { value: request, origin: "request" };
    const cap = RESOURCE_CAPS[name];
    return chosen.value <= cap ? chosen : { value: cap, origin: `${chosen.origin}, capped` };
  };
  return { memory_gb: pick("memory_gb"), cpu: pick("cpu"), disk_gb: pick("disk_gb") };
}

/** Each provider's own order: a snapshot of Docker's is an image, and Daytona has an image for want of its snapshot. */
export function resolveSources(
  provider: Provider,
  asked: { readonly image?: string | undefined; readonly snapshot?: string | undefined },
  configured: Sources,
): Sources {
  const toAsked = (value: string | undefined) => (value === undefined ? null : { value, origin: "request" });
  const [image, snapshot] = [toAsked(asked.image), toAsked(asked.snapshot)];
  switch (provider) {
    case "local":
      return { image: null, snapshot };
    case "docker":
      return snapshot === null ? { image: image ?? configured.image, snapshot: null } : { image: null, snapshot };
    case "daytona": {
      if (image !== null) return { image, snapshot: null };
      if (snapshot !== null || configured.image === null)
        return { image: null, snapshot: snapshot ?? configured.snapshot };
      const fallback = { ...configured.image, origin: `${configured.image.origin}, without the snapshot` };
      return { image: fallback, snapshot: configured.snapshot };
    }
    case "kubernetes":
      return { image: image ?? configured.image, snapshot: null };
    default:
      return { image: null, snapshot: null };
  }
}
