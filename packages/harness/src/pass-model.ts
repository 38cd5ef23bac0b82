/** The agent's way to models without a server: passed on with the vendor's key, metered, and stopped at the budget. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { API_BASE, AppError, type Config, type JsonObject } from "@drover/contract";
import {
  askForUsage,
  findModelRoute,
  isModelProtocol,
  needsUsage,
  pickPrice,
  readModelRequest,
  SEED_PRICES,
  toAgentHeaders,
  toCost,
  toUpstreamUrl,
  toVendorHeaders,
  toVendorQuery,
  type Metered,
  type ModelProtocol,
  type VendorKey,
} from "@drover/core";
import { hideUsage, maskKey, meterAnswer, openHttpVendors, parseModelBody } from "@drover/server/sandbox";

const PREFIX = `${API_BASE}/gateway/`;
const PAYMENT_REQUIRED = 402;

export interface Upstream extends VendorKey {
  readonly baseUrl: string;
}
export type Upstreams = Readonly<Partial<Record<ModelProtocol, Upstream>>>;

/** What the settings name, as for a server. */
export function toUpstreams(config: Config): Upstreams {
  const bearer = config.anthropicApiKey === undefined ? config.anthropicAuthToken : undefined;
  const named = {
    anthropic: {
      baseUrl: config.anthropicBaseUrl ?? "https://api.anthropic.com",
      key: config.anthropicApiKey ?? bearer,
      isBearer: bearer !== undefined,
      isNamed: config.anthropicBaseUrl !== undefined,
    },
    openai: {
      baseUrl: config.openaiBaseUrl ?? "https://api.openai.com",
      key: config.openaiApiKey,
      isBearer: true,
      isNamed: config.openaiBaseUrl !== undefined,
    },
    gemini: {
      baseUrl: config.geminiBaseUrl ?? "https://generativelanguage.googleapis.com",
      key: config.geminiApiKey,
      isBearer: false,
      isNamed: config.geminiBaseUrl !== undefined,
    },
  };
  return Object.fromEntries(Object.entries(named).filter(([, { key, isNamed }]) => isNamed || key !== undefined));
}

export type PassModel = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

export interface ModelPassage {
  readonly pass: PassModel;
  /** Null when a call had no price. */
  readonly costUsd: number | null;
  close(): Promise<void>;
}

export interface PassageOptions {
  readonly upstreams: Upstreams;
  readonly bodyLimitBytes: number;
  /** How long a vendor may say nothing. */
  readonly silenceMs: number;
  readonly budgetUsd: number | undefined;
  /** Told before the last word of an answer is handed on. */
  readonly onUsage: (data: JsonObject) => void;
}

async function readBytes(request: IncomingMessage, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit) throw new AppError("request.too_large", `a model request has at most ${limit} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** At the agent's pace: nothing is read from the vendor that the agent has not taken. */
async function write(response: ServerResponse, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  const closed = new Promise<void>((resolve) => void response.once("close", resolve));
  try {
    for await (const chunk of chunks) {
      if (response.destroyed) break;
      if (!response.write(chunk))
        await Promise.race([new Promise<void>((drained) => void response.once("drain", drained)), closed]);
    }
    response.end();
  } catch {
    // Expected: the vendor broke off, or the agent hung up. A broken answer is one to the agent too.
    response.destroy();
  }
}

export function openModelPassage(options: PassageOptions): ModelPassage {
  const { upstreams, bodyLimitBytes, silenceMs, budgetUsd, onUsage } = options;
  const vendor = openHttpVendors({ silenceMs });
  let spentUsd = 0;
  let isPriced = true;

  const settle =
    (protocol: ModelProtocol, model: string) =>
    async ({ usage, isEstimate }: Metered) => {
      const price = pickPrice(SEED_PRICES, model);
      const cost = price === undefined ? undefined : toCost(price, usage).totalUsd;
      if (cost === undefined) isPriced = false;
      spentUsd += cost ?? 0;
      onUsage({
        provider: protocol,
        model,
        input_tokens: usage.input,
        output_tokens: usage.output,
        cache_read_tokens: usage.cacheRead,
        cache_write_tokens: usage.cacheWrite,
        cost_usd: cost ?? null,
        ...(cost === undefined ? { unpriced: true } : {}),
        ...(isEstimate ? { is_estimate: true } : {}),
      });
    };

  return {
    get costUsd() {
      return isPriced ? spentUsd : null;
    },
    pass: async (request, response) => {
      const [path = "", query = ""] = (request.url ?? "").slice(PREFIX.length).split("?", 2);
      const protocol = path.split("/", 1)[0] ?? "";
      const rest = path.slice(protocol.length);
      const route = isModelProtocol(protocol) ? findModelRoute(protocol, request.method ?? "GET", rest) : undefined;
      const upstream = isModelProtocol(protocol) ? upstreams[protocol] : undefined;
      if (route === undefined) throw new AppError("route.not_found", "the gateway does not pass this");
      if (upstream === undefined)
        throw new AppError("model.not_configured", `no ${protocol} model is connected: set its key or base URL`);
      if (budgetUsd !== undefined && spentUsd >= budgetUsd) {
        const document = { type: "error", error: { type: "budget_exceeded", message: "the budget is spent" } };
        response.writeHead(PAYMENT_REQUIRED, { "content-type": "application/json" }).end(JSON.stringify(document));
        return;
      }
      const bytes = await readBytes(request, bodyLimitBytes);
      const body = route.kind === "list" ? undefined : parseModelBody(bytes);
      const asked = body === undefined ? undefined : readModelRequest(route, body);
      const isUsageAsked = body !== undefined && route.kind === "generate" && needsUsage(route, body);
      const hangUp = new AbortController();
      response.once("close", () => hangUp.abort());
      const answer = await vendor.send(
        {
          method: route.kind === "list" ? "GET" : "POST",
          url: toUpstreamUrl(upstream.baseUrl, route, toVendorQuery(query)),
          headers: toVendorHeaders(route.protocol, request.headers, upstream),
          body: body === undefined ? undefined : isUsageAsked ? Buffer.from(JSON.stringify(askForUsage(body))) : bytes,
          subject: "direct",
          dialect: route.dialect,
          path: route.path,
        },
        hangUp.signal,
      );
      response.writeHead(answer.status, toAgentHeaders(answer.headers));
      response.flushHeaders();
      if (answer.status >= 300 || asked === undefined || route.kind !== "generate")
        return write(response, answer.status >= 300 ? maskKey(answer.body, upstream.key) : answer.body);
      const metered = meterAnswer(answer, route, asked, bytes.byteLength, settle(route.protocol, asked.model));
      return write(response, isUsageAsked ? hideUsage(metered) : metered);
    },
    close: () => vendor.close(),
  };
}
