/** Figures of this process in the Prometheus text form. */
import type { Deps } from "../app/deps.ts";
import { listMeasured } from "../app/read-metrics.ts";

interface Figure {
  readonly name: string;
  readonly help: string;
  readonly kind: "gauge" | "counter";
  readonly value: number;
}

export interface Counters {
  requests: number;
  failures: number;
}

export async function writeMetrics(deps: Deps, counters: Counters, sockets: number): Promise<string> {
  const figures: readonly Figure[] = [
    {
      name: "drover_event_head",
      help: "Sequence number of the newest event known to this process.",
      kind: "counter",
      value: deps.tail.head(),
    },
    { name: "drover_stream_sockets", help: "Open live streams.", kind: "gauge", value: sockets },
    { name: "drover_http_requests_total", help: "Requests answered.", kind: "counter", value: counters.requests },
    {
      name: "drover_http_failures_total",
      help: "Requests answered with a status of 500 or more.",
      kind: "counter",
      value: counters.failures,
    },
    {
      name: "drover_bus_up",
      help: "Whether hints travel between replicas.",
      kind: "gauge",
      value: deps.bus.isUp() ? 1 : 0,
    },
    {
      name: "process_resident_memory_bytes",
      help: "Memory of the process.",
      kind: "gauge",
      value: process.memoryUsage.rss(),
    },
    { name: "process_uptime_seconds", help: "Age of the process.", kind: "gauge", value: process.uptime() },
    ...(await listMeasured(deps)),
  ];
  return figures
    .map(({ name, help, kind, value }) => `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n${name} ${value}\n`)
    .join("");
}
