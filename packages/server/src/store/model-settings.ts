/** Prices of models, and where their calls go. */
import { ModelProtocolName } from "@drover/contract";
import { z } from "zod";
import { command, query } from "./query.ts";
import { json, sql } from "./sql.ts";

export const PriceRow = z.object({
  model: z.string(),
  input: z.number(),
  output: z.number(),
  cache_read: z.number().nullable(),
  cache_write: z.number().nullable(),
  origin: z.enum(["list", "edited"]),
  as_of: z.string(),
  context_tokens: z.number().nullable(),
});
export type PriceRow = z.infer<typeof PriceRow>;

const columns = sql`model, input, output, cache_read, cache_write, origin, as_of, context_tokens`;

const SAMPLE_PRICE: PriceRow = {
  model: "a*",
  input: 1,
  output: 2,
  cache_read: null,
  cache_write: null,
  origin: "edited",
  as_of: "2026-01-01",
  context_tokens: null,
};

export const listPrices = query(
  "prices.list",
  PriceRow,
  [],
  () => sql`select ${columns} from model_prices order by model limit 10000`,
);

export const putPrice = query(
  "prices.put",
  PriceRow,
  [SAMPLE_PRICE],
  (price: PriceRow) => sql`
  insert into model_prices (model, input, output, cache_read, cache_write, origin, as_of, context_tokens)
  values (${price.model}, ${price.input}, ${price.output}, ${price.cache_read}, ${price.cache_write}, ${price.origin}, ${price.as_of},
    ${price.context_tokens})
  on conflict (model) do update set input = excluded.input, output = excluded.output, cache_read = excluded.cache_read,
    cache_write = excluded.cache_write, origin = excluded.origin, as_of = excluded.as_of, updated_at = now(),
    context_tokens = coalesce(excluded.context_tokens, model_prices.context_tokens)
  returning ${columns}`,
);

/** The list that came with this version; what people edited stays. */
export const ensurePrices = command(
  "prices.ensure",
  [[SAMPLE_PRICE]],
  (prices: readonly PriceRow[]) => sql`
  insert into model_prices (model, input, output, cache_read, cache_write, origin, as_of, context_tokens)
  select model, input, output, cache_read, cache_write, 'list', as_of, context_tokens
  from jsonb_to_recordset(${json(prices)}::jsonb) as given (model text, input float8, output float8, cache_read float8, cache_write float8, as_of text,
    context_tokens int)
  on conflict (model) do update set input = excluded.input, output = excluded.output, cache_read = excluded.cache_read,
    cache_write = excluded.cache_write, as_of = excluded.as_of, updated_at = now(), context_tokens = excluded.context_tokens
  where model_prices.origin = 'list' and (model_prices.as_of < excluded.as_of or model_prices.context_tokens is null)`,
);

export const deletePrice = query(
  "prices.delete",
  PriceRow,
  ["a*"],
  (model: string) => sql`delete from model_prices where model = ${model} returning ${columns}`,
);

const UpstreamRow = z.object({
  protocol: ModelProtocolName,
  base_url: z.string().nullable(),
  sealed_key: z.instanceof(Uint8Array).nullable(),
});
export type UpstreamRow = z.infer<typeof UpstreamRow>;

export const listUpstreams = query(
  "upstreams.list",
  UpstreamRow,
  [],
  () => sql`select protocol, base_url, sealed_key from model_upstreams order by protocol limit 10`,
);

/** What is not given stays as it is. */
export const putUpstream = command(
  "upstreams.put",
  ["anthropic", null, null],
  (protocol: string, baseUrl: string | null, sealedKey: Uint8Array | null) => sql`
  insert into model_upstreams (protocol, base_url, sealed_key) values (${protocol}, ${baseUrl}, ${sealedKey})
  on conflict (protocol) do update set base_url = coalesce(excluded.base_url, model_upstreams.base_url),
    sealed_key = coalesce(excluded.sealed_key, model_upstreams.sealed_key), updated_at = now()`,
);

export const deleteUpstream = command(
  "upstreams.delete",
  ["anthropic"],
  (protocol: string) => sql`delete from model_upstreams where protocol = ${protocol}`,
);
