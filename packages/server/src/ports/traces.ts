/** A collector of traces. */
/** A span with its place in a trace: 32 and 16 hexadecimal digits, as OpenTelemetry has them. */
export interface IdentifiedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | null;
  readonly name: string;
  readonly kind: "internal" | "client";
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  /** Why it failed, if it did. */
  readonly error: string | null;
}

/** Contract: `send` resolves to undefined when the collector took all of them, else to why not; it never throws and never takes longer than
 *  some seconds. Sending the same spans again is telling the same again. */
export interface Traces {
  send(spans: readonly IdentifiedSpan[]): Promise<string | undefined>;
  close(): Promise<void>;
}
