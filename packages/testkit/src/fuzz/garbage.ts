/** Makes requests that know the contract and break it somewhere: any endpoint, credential, id, query, body and bytes. */
import { api, API_BASE, type Endpoint, type EndpointName } from "@drover/contract";
import { z } from "zod";
import type { Chance } from "../chance.ts";
import type { CallOptions } from "../http-call.ts";
import { growValue, type KnownIds, type Schema } from "./grow-value.ts";
import { spoil } from "./spoil.ts";

export interface GarbageRequest extends CallOptions {
  readonly name: EndpointName;
  readonly method: string;
  readonly path: string;
}

/** Bearers to choose from; ids and further workers are learned from answers. */
export interface Bearers {
  readonly people: readonly [string, ...string[]];
  readonly workers: readonly [string, ...string[]];
}

/** These would download packages or start agents for each request that happens to be right. */
const NOT_SENT: ReadonlySet<string> = new Set<EndpointName>(["installAgentPackage", "startDemo"]);

interface Target {
  readonly name: EndpointName;
  readonly endpoint: Endpoint;
  readonly query: Schema;
  readonly body: Schema | undefined;
}

const toSchema = (schema: z.ZodType): Schema =>
  z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as unknown as Schema;

const [FIRST, ...REST] = (Object.entries(api) as [EndpointName, Endpoint][])
  .filter(([name]) => !NOT_SENT.has(name))
  .map(([name, endpoint]): Target => ({
    name,
    endpoint,
    query: endpoint.query === undefined ? {} : toSchema(endpoint.query),
    body: endpoint.body === undefined ? undefined : toSchema(endpoint.body),
  }));
if (FIRST === undefined) throw new Error("there are no endpoints");
const TARGETS: readonly [Target, ...Target[]] = [FIRST, ...REST];

const BROKEN_BYTES: readonly [Uint8Array, ...Uint8Array[]] = [
  Buffer.from("{"),
  Buffer.from('{"a":1}}'),
  Buffer.from([0xff, 0xfe, 0x00]),
  Buffer.from([0x22, 0xc3, 0x28, 0x22]),
  Buffer.from("\ufeff{}"),
  Buffer.from("[".repeat(20_000)),
  Buffer.from('{"a":'.repeat(10_000)),
  Buffer.from("null"),
  Buffer.from('"text"'),
  Buffer.from("1e999"),
  Buffer.from('{"event_type":"a.b","event_type":"c.d"}'),
];

const BAD_HEADERS: readonly [Record<string, string>, ...Record<string, string>[]] = [
  { "content-type": "text/plain" },
  { "content-type": "application/json; charset=utf-16" },
  { "idempotency-key": "x".repeat(300) },
  { "idempotency-key": "a b\tc" },
  { "x-request-id": "<script>" },
  { "content-encoding": "gzip" },
  { accept: "text/html" },
  { "last-event-id": "-1" },
  { origin: "http://example.invalid" },
  { cookie: "drover_session=%00; a=b" },
];

const BAD_SEGMENTS: readonly [string, ...string[]] = [
  "..",
  "%00",
  "%2e%2e%2f",
  "0",
  "-",
  "%F0%9F%98%80",
  "a".repeat(3_000),
  "%",
  "%ff",
];

function toPath(target: Target, chance: Chance, known: KnownIds): string {
  const path = target.endpoint.path.replaceAll(/:(\w+)/g, (_, field: string) =>
    chance.isIn(6) ? chance.pick(BAD_SEGMENTS) : encodeURIComponent(known(field, chance) ?? "nobody"),
  );
  if (target.endpoint.query === undefined) return chance.isIn(3) ? `${path}?unknown=1&unknown=2` : path;
  const grown = growValue(target.query, chance, known) as Record<string, unknown>;
  const given = (chance.isIn(35) ? spoil(grown, chance) : grown) as Record<string, unknown> | null;
  const pairs = Object.entries(typeof given === "object" && given !== null ? given : { given }).flatMap(
    ([name, value]) =>
      (Array.isArray(value) ? value : [value]).map(
        (one: unknown) =>
          `${encodeURIComponent(name.toWellFormed())}=${encodeURIComponent((typeof one === "string" ? one : (JSON.stringify(one) ?? "")).toWellFormed())}`,
      ),
  );
  return pairs.length === 0 ? path : `${path}?${pairs.join("&")}`;
}

function toBody(target: Target, chance: Chance, known: KnownIds): CallOptions {
  if (target.endpoint.access === "worker" && target.endpoint.method === "PUT") return { raw: "some bytes" };
  if (target.body === undefined) return chance.isIn(5) ? { body: spoil({}, chance) } : {};
  if (chance.isIn(8)) return { raw: chance.pick(BROKEN_BYTES) };
  const grown = growValue(target.body, chance, known);
  return { body: chance.isIn(45) ? spoil(grown, chance) : grown };
}

function toToken(target: Target, chance: Chance, bearers: Bearers): string | undefined {
  if (chance.isIn(4)) return undefined;
  if (chance.isIn(4)) return chance.pick(["drv_u_x", "drv_s_x", "", "x".repeat(5_000), "drv_l_", "drv_s_\u00e9"]);
  const isWorkers = (target.endpoint.access === "worker") !== chance.isIn(8);
  return chance.pick(isWorkers ? bearers.workers : bearers.people);
}

export function makeGarbage(chance: Chance, known: KnownIds, bearers: Bearers): GarbageRequest {
  const target = chance.pick(TARGETS);
  return {
    name: target.name,
    method: target.endpoint.method,
    path: API_BASE + toPath(target, chance, known),
    token: toToken(target, chance, bearers),
    ...toBody(target, chance, known),
    ...(chance.isIn(8) ? { headers: chance.pick(BAD_HEADERS) } : {}),
  };
}
