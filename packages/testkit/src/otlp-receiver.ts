/** A collector of traces: takes OTLP over HTTP and reads its protobuf by the numbers of the published protocol (opentelemetry-proto 1). */
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty where it has none. */
  readonly parentSpanId: string;
  readonly name: string;
  readonly kind: number;
  readonly startNs: bigint;
  readonly endNs: bigint;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly status: number;
  readonly service: string;
}

export interface OtlpReceiver extends AsyncDisposable {
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  readonly requests: () => number;
  /** What the next requests are answered with. */
  answer(status: number): void;
}

interface Field {
  readonly number: number;
  readonly value: bigint | Buffer;
}

/** The wire format: a number and a kind, then a varint, eight bytes, a length with bytes, or four bytes. */
function* readFields(bytes: Buffer): Generator<Field> {
  let at = 0;
  const readVarint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++];
      if (byte === undefined) throw new Error("the message ends within a number");
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const tag = readVarint();
    const number = Number(tag >> 3n);
    const kind = Number(tag & 7n);
    if (kind === 0) yield { number, value: readVarint() };
    else if (kind === 1) yield { number, value: bytes.readBigUInt64LE((at += 8) - 8) };
    else if (kind === 5) yield { number, value: BigInt(bytes.readUInt32LE((at += 4) - 4)) };
    else if (kind === 2) {
      const length = Number(readVarint());
      if (at + length > bytes.length) throw new Error("the message ends within a field");
      yield { number, value: bytes.subarray(at, (at += length)) };
    } else throw new Error(`no field has the kind ${kind}`);
  }
}

const listOf = (bytes: Buffer, number: number): readonly Buffer[] =>
  [...readFields(bytes)].flatMap((field) =>
    field.number === number && typeof field.value !== "bigint" ? [field.value] : [],
  );
const bytesOf = (bytes: Buffer, number: number): Buffer => listOf(bytes, number)[0] ?? Buffer.alloc(0);
const numberOf = (bytes: Buffer, number: number): bigint => {
  const found = [...readFields(bytes)].find((field) => field.number === number)?.value;
  return typeof found === "bigint" ? found : 0n;
};

/** AnyValue: string 1, bool 2, int 3, double 4. */
function readValue(bytes: Buffer): unknown {
  const [field] = readFields(bytes);
  if (field === undefined) return undefined;
  const { number, value } = field;
  if (typeof value !== "bigint") return number === 1 ? value.toString("utf8") : value;
  if (number === 2) return value === 1n;
  if (number !== 4) return Number(value);
  const eight = Buffer.alloc(8);
  eight.writeBigUInt64LE(value);
  return eight.readDoubleLE();
}

const readAttributes = (pairs: readonly Buffer[]): Record<string, unknown> =>
  Object.fromEntries(pairs.map((pair) => [bytesOf(pair, 1).toString("utf8"), readValue(bytesOf(pair, 2))]));

const toSpan = (bytes: Buffer, service: string): ReceivedSpan => ({
  traceId: bytesOf(bytes, 1).toString("hex"),
  spanId: bytesOf(bytes, 2).toString("hex"),
  parentSpanId: bytesOf(bytes, 4).toString("hex"),
  name: bytesOf(bytes, 5).toString("utf8"),
  kind: Number(numberOf(bytes, 6)),
  startNs: numberOf(bytes, 7),
  endNs: numberOf(bytes, 8),
  attributes: readAttributes(listOf(bytes, 9)),
  status: Number(numberOf(bytesOf(bytes, 15), 3)),
  service,
});

/** ExportTraceServiceRequest > ResourceSpans 1 > (Resource 1, ScopeSpans 2 > Span 2). */
const readRequest = (bytes: Buffer): readonly ReceivedSpan[] =>
  listOf(bytes, 1).flatMap((perResource) => {
    const service = String(readAttributes(listOf(bytesOf(perResource, 1), 1))["service.name"]);
    return listOf(perResource, 2).flatMap((perScope) => listOf(perScope, 2).map((span) => toSpan(span, service)));
  });

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const body = await buffer(request);
  return request.headers["content-encoding"] === "gzip" ? gunzipSync(body) : body;
}

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  let requests = 0;
  let status = 200;
  const server = createServer((request, response) => {
    void readBody(request).then((body) => {
      requests += 1;
      const isTrace = request.method === "POST" && request.url === "/v1/traces";
      const isProtobuf = request.headers["content-type"] === "application/x-protobuf";
      const answered = isTrace && isProtobuf ? status : 415;
      if (answered === 200) spans.push(...readRequest(body));
      response.writeHead(answered, { "content-type": "application/x-protobuf" }).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    requests: () => requests,
    answer: (next) => void (status = next),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
