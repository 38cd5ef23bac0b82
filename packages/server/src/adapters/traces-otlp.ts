/** Traces by OTLP over HTTP, in the form and with the tries of OpenTelemetry's own exporter. */
import { SpanKind, SpanStatusCode, TraceFlags, type HrTime, type SpanContext } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import type { IdentifiedSpan, Traces } from "../ports/traces.ts";

const TIMEOUT_MS = 5_000;

export interface OtlpOptions {
  readonly endpoint: string;
  /** `name=value` with commas between. */
  readonly headers: string | undefined;
  readonly serviceName: string;
  readonly instance: string;
}

const toHrTime = (ms: number): HrTime => [Math.floor(ms / 1_000), Math.round((ms % 1_000) * 1_000_000)];

const toContext = (traceId: string, spanId: string): SpanContext => ({
  traceId,
  spanId,
  traceFlags: TraceFlags.SAMPLED,
});

const parseHeaders = (text: string | undefined): Record<string, string> =>
  Object.fromEntries(
    (text ?? "")
      .split(",")
      .filter((pair) => pair.includes("="))
      .map((pair) => {
        const at = pair.indexOf("=");
        return [pair.slice(0, at).trim(), decodeURIComponent(pair.slice(at + 1).trim())];
      }),
  );

export function openOtlpTraces(options: OtlpOptions): Traces {
  const exporter = new OTLPTraceExporter({
    url: `${options.endpoint.replace(/\/+$/, "")}/v1/traces`,
    headers: parseHeaders(options.headers),
    timeoutMillis: TIMEOUT_MS,
  });
  const resource = resourceFromAttributes({
    "service.name": options.serviceName,
    "service.instance.id": options.instance,
  });
  const toReadable = (span: IdentifiedSpan): ReadableSpan => ({
    name: span.name,
    kind: span.kind === "client" ? SpanKind.CLIENT : SpanKind.INTERNAL,
    spanContext: () => toContext(span.traceId, span.spanId),
    ...(span.parentSpanId === null ? {} : { parentSpanContext: toContext(span.traceId, span.parentSpanId) }),
    startTime: toHrTime(span.startMs),
    endTime: toHrTime(span.endMs),
    duration: toHrTime(span.endMs - span.startMs),
    status: span.error === null ? { code: SpanStatusCode.UNSET } : { code: SpanStatusCode.ERROR, message: span.error },
    attributes: { ...span.attributes, ...(span.error === null ? {} : { "error.type": span.error }) },
    links: [],
    events: [],
    ended: true,
    resource,
    instrumentationScope: { name: "drover" },
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  });
  return {
    send: (spans) =>
      new Promise((resolve) =>
        exporter.export(spans.map(toReadable), ({ code, error }) =>
          resolve(code === 0 ? undefined : (error?.message ?? "the collector refused")),
        ),
      ),
    close: () => exporter.shutdown(),
  };
}
