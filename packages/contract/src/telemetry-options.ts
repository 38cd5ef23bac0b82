/** Settings of traces for other programs, under the names that OpenTelemetry gave them. */
import { z } from "zod";
import type { Option } from "./options.ts";

export const TELEMETRY_OPTIONS = {
  otelEndpoint: {
    env: "OTEL_EXPORTER_OTLP_ENDPOINT",
    yaml: "telemetry.endpoint",
    schema: z.url().optional(),
    doc: "Address of an OpenTelemetry collector (OTLP over HTTP, `/v1/traces` is added); one trace per run goes there when the run is over. Unset: nothing is loaded or sent.",
  },
  otelHeaders: {
    env: "OTEL_EXPORTER_OTLP_HEADERS",
    yaml: "telemetry.headers",
    schema: z
      .string()
      .regex(/^[^=,]+=[^,]*(?:,[^=,]+=[^,]*)*$/, "is a list of name=value")
      .optional(),
    doc: "Headers for the collector, as `name=value` with commas between.",
    secret: true,
  },
  otelServiceName: {
    env: "OTEL_SERVICE_NAME",
    yaml: "telemetry.service_name",
    schema: z.string().min(1),
    fallback: "drover",
    doc: "What traces call this installation.",
  },
  otelCaptureContent: {
    env: "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT",
    yaml: "telemetry.capture_content",
    schema: z.stringbool(),
    fallback: "false",
    doc: "Whether traces hold what was asked, answered and given to tools, and not only names, times and numbers.",
  },
} as const satisfies Record<string, Option>;
