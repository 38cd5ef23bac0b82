/** Addresses of the live stream. */
import { API_BASE, type EventFilter } from "@drover/contract";

/** The socket's address for a server's; an empty base is the page's own origin. */
export function toSocketAddress(baseUrl: string): string {
  const base = baseUrl === "" ? globalThis.location.origin : baseUrl;
  return `${base.replace(/^http/, "ws")}${API_BASE}/ws/events`;
}

export function toStreamAddress(address: string, filter: EventFilter, afterSeq: number | undefined): string {
  const query = new URLSearchParams();
  for (const name of ["event_types", "entity_types", "entity_ids"] as const) {
    const values = filter[name] ?? [];
    if (values.length > 0) query.set(name, values.join(","));
  }
  if (afterSeq !== undefined) query.set("after_seq", String(afterSeq));
  return query.size === 0 ? address : `${address}?${query}`;
}
