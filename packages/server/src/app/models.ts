/** What calls of models need at every moment: prices, addresses and keys, remembered for a few seconds. */
import { AppError, type Config } from "@drover/contract";
import { SEED_PRICES, SEED_PRICES_AS_OF, type ModelPrice, type ModelProtocol, type VendorKey } from "@drover/core";
import type { Clock } from "../ports/clock.ts";
import type { Db } from "../ports/db.ts";
import type { Cassettes, ModelVendor } from "../ports/model-vendor.ts";
import type { Vault } from "../ports/vault.ts";
import { ensurePrices, listPrices, listUpstreams } from "../store/model-settings.ts";

export interface Upstream extends VendorKey {
  readonly baseUrl: string;
}

export interface Connection {
  readonly vendor: ModelVendor;
  readonly upstream: Upstream;
}

export interface Models {
  listPrices(): Promise<readonly ModelPrice[]>;
  /** The vendor, or the recording that this sandbox or the whole server is answered from. Throws model.not_configured, and says what to set. */
  connect(protocol: ModelProtocol, cassette: string | undefined): Promise<Connection>;
  /** Something was changed here; other replicas see it within seconds. */
  forget(): void;
  /** Waits for what is still to be written about calls that ended. */
  track<T>(work: Promise<T>): Promise<T>;
  settled(): Promise<void>;
}

export interface ModelsDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly config: Config;
  readonly vault: Vault;
  readonly vendor: ModelVendor;
  readonly cassettes: Cassettes;
}

const REMEMBER_MS = 5_000;

const DEFAULT_ADDRESS: Readonly<Record<ModelProtocol, string>> = {
  anthropic: "https://api.anthropic.com",
  openai: "https://api.openai.com",
  gemini: "https://generativelanguage.googleapis.com",
};

const ADVICE: Readonly<Record<ModelProtocol, string>> = {
  anthropic: "ANTHROPIC_API_KEY (or ANTHROPIC_BASE_URL)",
  openai: "OPENAI_API_KEY (or OPENAI_BASE_URL)",
  gemini: "GEMINI_API_KEY (or GOOGLE_GEMINI_BASE_URL)",
};

export interface ConfiguredUpstream extends VendorKey {
  readonly baseUrl: string | undefined;
}

export function toConfigured(config: Config, protocol: ModelProtocol): ConfiguredUpstream {
  if (protocol === "openai") return { baseUrl: config.openaiBaseUrl, key: config.openaiApiKey, isBearer: true };
  if (protocol === "gemini") return { baseUrl: config.geminiBaseUrl, key: config.geminiApiKey, isBearer: false };
  const isBearer = config.anthropicApiKey === undefined && config.anthropicAuthToken !== undefined;
  return { baseUrl: config.anthropicBaseUrl, key: config.anthropicApiKey ?? config.anthropicAuthToken, isBearer };
}

function remember<T>(clock: Clock, load: () => Promise<T>) {
  let known: { readonly value: Promise<T>; readonly untilMs: number } | undefined;
  return {
    get: (): Promise<T> => {
      const nowMs = clock.now().getTime();
      if (known === undefined || known.untilMs <= nowMs) {
        const value = load();
        known = { value, untilMs: nowMs + REMEMBER_MS };
        // What could not be read is asked for again.
        value.catch(() => (known = undefined));
      }
      return known.value;
    },
    forget: () => void (known = undefined),
  };
}

export function openModels({ db, clock, config, vault, vendor, cassettes }: ModelsDeps): Models {
  const prices = remember(clock, async (): Promise<readonly ModelPrice[]> =>
    (await listPrices(db)).map((row) => ({
      model: row.model,
      input: row.input,
      output: row.output,
      cacheRead: row.cache_read,
      cacheWrite: row.cache_write,
      contextTokens: row.context_tokens,
    })),
  );
  const stored = remember(clock, () => listUpstreams(db));
  const underWay = new Set<Promise<unknown>>();

  const openKey = (sealed: Uint8Array): string => {
    try {
      return vault.open(sealed);
    } catch (cause) {
      // Expected: the data directory is another one than that which sealed it.
      throw new AppError(
        "model.not_configured",
        "the stored key was sealed with another DROVER_SECRET_KEY; store it again",
        {
          cause,
        },
      );
    }
  };

  const findUpstream = async (protocol: ModelProtocol): Promise<Upstream> => {
    const { baseUrl, key, isBearer } = toConfigured(config, protocol);
    if (baseUrl !== undefined || key !== undefined)
      return { baseUrl: baseUrl ?? DEFAULT_ADDRESS[protocol], key, isBearer };
    const row = (await stored.get()).find((one) => one.protocol === protocol);
    if (row === undefined)
      throw new AppError(
        "model.not_configured",
        `no ${protocol} model is connected: set ${ADVICE[protocol]} where the server starts, or PUT /api/v1/models/upstreams/${protocol}`,
      );
    return {
      baseUrl: row.base_url ?? DEFAULT_ADDRESS[protocol],
      key: row.sealed_key === null ? undefined : openKey(row.sealed_key),
      isBearer: false,
    };
  };

  const replayed = config.cassetteMode === "replay" ? config.cassette : undefined;

  return {
    listPrices: prices.get,
    connect: async (protocol, cassette) => {
      const name = cassette ?? replayed;
      if (name === undefined) return { vendor, upstream: await findUpstream(protocol) };
      return {
        vendor: await cassettes.open(name),
        upstream: { baseUrl: DEFAULT_ADDRESS[protocol], key: undefined, isBearer: false },
      };
    },
    forget: () => {
      prices.forget();
      stored.forget();
    },
    track: (work) => {
      underWay.add(work);
      const forget = () => void underWay.delete(work);
      work.then(forget, forget);
      return work;
    },
    settled: async () => {
      await Promise.allSettled(underWay);
    },
  };
}

export async function ensureSeedPrices(db: Db): Promise<void> {
  await ensurePrices(
    db,
    SEED_PRICES.map(({ model, input, output, cacheRead, cacheWrite, contextTokens }) => ({
      model,
      input,
      output,
      cache_read: cacheRead,
      cache_write: cacheWrite,
      context_tokens: contextTokens,
      origin: "list" as const,
      as_of: SEED_PRICES_AS_OF,
    })),
  );
}
