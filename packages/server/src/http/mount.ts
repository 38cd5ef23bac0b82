/** Mounts every endpoint once: credential, validation, use case, problem document. */
import type { IncomingMessage } from "node:http";
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { api, API_BASE, AppError, type Endpoint, type EndpointName } from "@drover/contract";
import type { z } from "zod";
import type { Principal } from "../app/credential.ts";
import type { Deps } from "../app/deps.ts";
import { checkStore } from "../app/locate.ts";
import { StandsElsewhere } from "../app/stand-elsewhere.ts";
import { authorise, resolvePrincipal } from "./authorise.ts";
import { readJson } from "./body.ts";
import { openCredentialWatch } from "./credential-watch.ts";
import { mountAgentEvents } from "./agent-events.ts";
import { mountGitHubWebhook } from "./github-webhook.ts";
import { mountGitEndpoint } from "./git-endpoint.ts";
import { Context } from "./context.ts";
import { openFirstReplies } from "./first-replies.ts";
import { forwardRequest } from "./forward-request.ts";
import { mountGateway } from "./gateway.ts";
import { handlers } from "./handlers.ts";
import { openHostedSockets } from "./hosted-socket.ts";
import { openHostCheck, requireServed, type HostCheck } from "./host-check.ts";
import { mountMcp } from "./mcp.ts";
import { writeMetrics, type Counters } from "./metrics.ts";
import { answerBrokenRequest, endWithProblem, watchAnswers } from "./broken-request.ts";
import { writeOpenApi } from "./openapi.ts";
import { toAppError, toInvalid, toProblem } from "./problem.ts";
import { openPtySockets } from "./pty-socket.ts";
import { openPreviewSite } from "./preview.ts";
import { openRateLimits } from "./rate-limits.ts";
import { SECURITY_HEADERS } from "./security-headers.ts";
import { isPagePath, mountStaticFiles } from "./static-files.ts";
import { openStreamSockets } from "./stream-socket.ts";

export interface Site {
  readonly app: FastifyInstance;
  /** Takes no connection any more, tells sockets and polls to go elsewhere, and waits until all requests are answered, at most so long. */
  drain(graceMs: number): Promise<void>;
  close(): Promise<void>;
}

const KEY_LIMIT = 200;
const SWEEP_MS = 20;
/** A proxy may be sending over a connection that looks idle here: whoever uses it until then is answered, and told that it closes. */
const LINGER_MS = 500;
const REQUEST_ID = /^[\w.:-]{1,100}$/;
const principals = new WeakMap<FastifyRequest, Principal>();

function parsePart<T extends z.ZodType>(
  schema: T | undefined,
  value: unknown,
  place: "body" | "query" | "path",
): z.infer<T> | undefined {
  if (schema === undefined) return undefined;
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw toInvalid(parsed.error, place);
  return parsed.data;
}

/** A path parameter that has not the shape of an id names nothing: 404, as for one that does not exist. */
function parseParams(endpoint: Endpoint, params: unknown): unknown {
  const parsed = endpoint.params?.safeParse(params);
  if (parsed?.success === false) throw new AppError("route.not_found", "nothing has this id");
  return parsed?.data;
}

function toRequestKey(endpoint: Endpoint, request: FastifyRequest, principal: Principal | undefined) {
  const key = request.headers["idempotency-key"];
  if (endpoint.method !== "POST" || typeof key !== "string" || principal === undefined) return undefined;
  if (key === "" || key.length > KEY_LIMIT)
    throw new AppError("request.invalid", `Idempotency-Key has 1-${KEY_LIMIT} characters`);
  const who = principal.kind === "person" ? principal.tokenId : principal.sandboxId;
  return { key, scope: `${who} ${endpoint.method} ${request.url}`, request: JSON.stringify(request.body ?? null) };
}

/** What in an address no endpoint could take: NUL characters, and percent-encoding that is none or not of UTF-8. */
function requireCleanUrl(url: string): void {
  if (/%00/i.test(url)) throw new AppError("request.invalid", "the address contains a NUL character");
  const start = url.indexOf("?");
  try {
    if (start !== -1) decodeURIComponent(url.slice(start + 1));
  } catch (cause) {
    // Expected: the caller wrote a percent sign that stands for nothing.
    throw new AppError("request.invalid", "the query is not percent-encoded UTF-8", { cause });
  }
}

/** No parameter means anything without a value, and as a number nothing would be 0. */
function parseQueryPart(endpoint: Endpoint, query: Readonly<Record<string, unknown>>): unknown {
  const blank = Object.keys(query).find((key) => query[key] === "");
  if (endpoint.query !== undefined && blank !== undefined) {
    throw new AppError("request.invalid", `query ${blank}: has no value`, {
      fields: [{ path: blank, message: "has no value" }],
    });
  }
  return parsePart(endpoint.query, query, "query");
}

export async function mountSite(
  deps: Deps,
  options: { readonly webRoot: string; readonly signal: AbortSignal },
): Promise<Site> {
  const hosts: HostCheck = openHostCheck(deps.config);
  const limits = openRateLimits(deps.config, deps.buckets);
  const watch = openCredentialWatch(deps);
  const counters: Counters = { requests: 0, failures: 0 };
  const answerProblem = (error: unknown, request: Pick<FastifyRequest, "id">, reply: FastifyReply) => {
    const refusal = toAppError(error);
    const problem = toProblem(refusal, request.id, deps.log);
    if (refusal.retryAfterSeconds !== undefined) void reply.header("retry-after", refusal.retryAfterSeconds);
    if (problem.status === 401) void reply.header("www-authenticate", "Bearer");
    if (problem.status === 503) void reply.header("retry-after", refusal.retryAfterSeconds ?? 1);
    return reply.status(problem.status).type("application/problem+json").send(JSON.stringify(problem));
  };
  const toRequestId = ({ headers }: Pick<IncomingMessage, "headers">): string => {
    const given = headers["x-request-id"];
    return typeof given === "string" && REQUEST_ID.test(given) ? given : deps.ids.request();
  };
  const app = Fastify({
    logger: false,
    genReqId: toRequestId,
    routerOptions: { maxParamLength: 300, querystringParser: (text) => parseQuery(text) },
    requestTimeout: 120_000,
    keepAliveTimeout: 65_000,
    // Those between two requests are closed below, when they had time to be used once more.
    forceCloseConnections: false,
    // Who comes through a connection that is still open while the server leaves is answered, and told to close it.
    return503OnClosing: false,
    // A GET may take messages out of a queue: nothing is to happen for a HEAD.
    exposeHeadRoutes: false,
    http: {
      // The host check below answers for a missing Host as for a foreign one.
      requireHostHeader: false,
      // Clients offer HTTP/2 this way with any request; what is not taken up is a request like others. Programs in sandboxes speak what they like.
      shouldUpgradeCallback: ({ headers }: IncomingMessage) => !/^(h2c|tls\/)/i.test(headers.upgrade ?? ""),
    },
    clientErrorHandler: (error, socket) => answerBrokenRequest(error, socket, answers, deps.ids.request(), deps.log),
    frameworkErrors: (error, request, reply) => {
      void reply.headers({ ...SECURITY_HEADERS, "x-request-id": request.id });
      void answerProblem(error, request, reply);
    },
  });

  const firstReplies = openFirstReplies(deps);
  const previews = openPreviewSite(deps);
  const answers = watchAnswers(app.server);
  const leaving = new AbortController();
  const endings = { stopping: options.signal, leaving: leaving.signal };

  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (request, payload, done) => {
    // Artifacts and archives are bytes: their endpoints read the stream themselves.
    if (request.method === "PUT" && /\/(?:artifacts|archives)\//.test(request.url)) return done(null, undefined);
    readJson(payload).then(
      (value) => done(null, value),
      (error: unknown) => done(error as Error),
    );
  });

  app.addHook("onRequest", async (request, reply) => {
    if (previews.handle(request.raw, reply.raw)) return void reply.hijack();
    void reply.headers({ ...SECURITY_HEADERS, "x-request-id": request.id });
    if (request.url === "/healthz" || request.url === "/readyz") return;
    requireServed(hosts, request.headers);
    requireCleanUrl(request.url);
  });
  const isToldOfAll = deps.config.logLevel === "debug" || deps.config.logLevel === "trace";
  app.addHook("onResponse", async (request, reply) => {
    counters.requests += 1;
    const isFailure = reply.statusCode >= 500;
    if (isFailure) counters.failures += 1;
    if (!isToldOfAll && !isFailure) return;
    // The route and not the address, which may hold a ticket.
    const { sandbox_id } = (request.params ?? {}) as { sandbox_id?: string };
    deps.log[isFailure ? "warn" : "debug"]("http.request", {
      request_id: request.id,
      method: request.method,
      route: request.routeOptions.url ?? null,
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime),
      ...(sandbox_id === undefined ? {} : { sandbox: sandbox_id }),
    });
  });

  app.setErrorHandler(answerProblem);
  app.setNotFoundHandler(async (request, reply) => {
    if (request.method === "GET" && isPagePath(request.url)) return pages.sendShell(reply);
    if ((await resolvePrincipal(deps, request.headers)) === undefined) throw new AppError("auth.required");
    throw new AppError("route.not_found");
  });

  const mount = (name: EndpointName, endpoint: Endpoint) => {
    app.route({
      method: endpoint.method,
      url: API_BASE + endpoint.path,
      onRequest: async (request) => {
        const principal = await authorise(deps, endpoint, request.headers, request.params as Record<string, string>);
        if (principal !== undefined) principals.set(request, principal);
      },
      handler: async (request, reply) => {
        const principal = principals.get(request);
        const input = {
          params: parseParams(endpoint, request.params),
          query: parseQueryPart(endpoint, request.query as Readonly<Record<string, unknown>>),
          body: parsePart(endpoint.body, request.body, "body"),
        };
        const requestKey = toRequestKey(endpoint, request, principal);
        const context = new Context({ deps, limits, watch, principal, request, reply, requestKey }, endings);
        const handle = handlers[name] as (context: Context, input: unknown) => Promise<unknown>;
        const work = () => handle(context, input);
        const answer = await firstReplies.answer(endpoint, requestKey, work).catch((error: unknown) => {
          if (!(error instanceof StandsElsewhere)) throw error;
          return forwardRequest(deps, error, context);
        });
        if (reply.sent) return reply;
        return reply.status(endpoint.status ?? 200).send(answer);
      },
    });
  };
  for (const [name, endpoint] of Object.entries(api) as [EndpointName, Endpoint][]) mount(name, endpoint);

  await mountGitHubWebhook(app, deps);
  await mountAgentEvents(app, deps);
  await mountGitEndpoint(app, deps, options.signal);

  await mountGateway(app, deps, options.signal);
  mountMcp(app, deps, options.signal);
  app.get("/healthz", { exposeHeadRoute: true }, async () => ({ status: "ok" }));
  app.get("/readyz", { exposeHeadRoute: true }, async () => {
    await checkStore(deps.db);
    if (leaving.signal.aborted) throw new AppError("server.not_ready", "the server stops");
    if (!deps.bus.isUp()) throw new AppError("server.not_ready", "the bus between replicas is down (REDIS_URL)");
    return { status: "ready", database: "ok", bus: "ok", migrations: "ok" };
  });
  const requirePerson = async (request: FastifyRequest) => {
    const principal = await resolvePrincipal(deps, request.headers);
    if (principal === undefined) throw new AppError("auth.required");
    if (principal.kind !== "person") throw new AppError("auth.forbidden");
  };
  app.get("/openapi.json", { onRequest: requirePerson }, (_request, reply) =>
    reply.type("application/json").send(writeOpenApi()),
  );
  const sockets = openStreamSockets(deps, hosts, watch);
  const terminals = openPtySockets(deps, hosts, watch);
  const hosted = openHostedSockets(deps, hosts, watch);
  app.get("/metrics", { onRequest: requirePerson }, async (_request, reply) =>
    reply.type("text/plain; version=0.0.4").send(await writeMetrics(deps, counters, sockets.count())),
  );
  const pages = await mountStaticFiles(app, options.webRoot);

  app.server.on("upgrade", (request, socket, head) => {
    // Unheard, the error of a caller that hangs up would end the process.
    socket.on("error", () => undefined);
    if (![previews, sockets, terminals, hosted].some((one) => one.handleUpgrade(request, socket, head)))
      endWithProblem(socket, new AppError("route.not_found"), toRequestId(request), deps.log);
  });
  let closing: Promise<unknown> | undefined;
  /** Closing waits for connections: those that are between two requests are not waited for. */
  const closeSwept = async (sweep: () => void) => {
    closing ??= app.close();
    const sweeper = setInterval(sweep, SWEEP_MS);
    await closing.finally(() => clearInterval(sweeper));
  };
  return {
    app,
    drain: async (graceMs) => {
      leaving.abort();
      const lingerUntil = performance.now() + LINGER_MS;
      const isClosed = closeSwept(() => {
        if (performance.now() > lingerUntil) app.server.closeIdleConnections();
      });
      const isOver = new AbortController();
      const patience = deps.clock.sleep(graceMs, isOver.signal);
      // Told after the door is shut: who comes back at once must not come back here.
      while (app.server.listening) await new Promise((resolve) => setImmediate(resolve));
      await Promise.all([sockets.close(), terminals.close(), hosted.close(), previews.close()]);
      await Promise.race([isClosed, patience]);
      isOver.abort();
    },
    close: async () => {
      await Promise.all([sockets.close(), terminals.close(), hosted.close(), previews.close()]);
      await closeSwept(() => app.server.closeAllConnections());
      watch.close();
    },
  };
}

/** A key given twice is a list. Without a prototype, so that no key is there before it was given. */
function parseQuery(text: string): Record<string, string | string[]> {
  const query = Object.create(null) as Record<string, string | string[]>;
  for (const [key, value] of new URLSearchParams(text)) {
    const known = query[key];
    query[key] = known === undefined ? value : [...(Array.isArray(known) ? known : [known]), value];
  }
  return query;
}
