/** The way of sandboxes to models: `/gateway/{anthropic,openai,gemini}/...`, as the vendors' own clients speak. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { API_BASE, AppError } from "@drover/contract";
import { findModelRoute, isModelProtocol, type ModelProtocol } from "@drover/core";
import { callModel, type ModelReply } from "../app/call-model.ts";
import type { WorkerPrincipal } from "../app/credential.ts";
import type { Deps } from "../app/deps.ts";
import { resolvePrincipal } from "./authorise.ts";
import { type BodyRoom, createBodyRoom } from "./body-room.ts";
import { onClosed, signalOf } from "./hang-up.ts";
import { toAppError, toProblem } from "./problem.ts";
import { toVendorEvent, toVendorProblem } from "./vendor-problem.ts";

const MEBIBYTE = 1024 * 1024;
const PREFIX = `${API_BASE}/gateway/`;
/** Requests of the largest size that one sandbox, and all together, may have under way. */
const LARGE = { perSandbox: 2, all: 16 } as const;

/** Vendors' clients send what they were given as a key in one of three headers. */
function toAuthorization(headers: FastifyRequest["headers"]): string | undefined {
  if (headers.authorization !== undefined) return headers.authorization;
  const key = headers["x-api-key"] ?? headers["x-goog-api-key"];
  return typeof key === "string" ? `Bearer ${key}` : undefined;
}

async function requireSandbox(deps: Deps, request: FastifyRequest): Promise<WorkerPrincipal> {
  const authorization = toAuthorization(request.headers);
  const principal = await resolvePrincipal(deps, { authorization, cookie: request.headers.cookie });
  if (principal === undefined) throw new AppError("auth.required", "a sandbox's own token is needed");
  if (principal.kind !== "worker" || principal.scope === "git")
    throw new AppError("auth.forbidden", "only sandboxes use the model gateway");
  return principal;
}

interface BodyLimits {
  readonly bytes: number;
  readonly silenceMs: number;
  readonly take: (bytes: number) => boolean;
}

async function readBody({ raw, headers }: FastifyRequest, limits: BodyLimits): Promise<Buffer> {
  const { bytes: limit, silenceMs, take } = limits;
  const refuse = () =>
    new AppError("request.too_large", `a model request has at most ${limit} bytes (DROVER_MODEL_BODY_MB)`);
  if (Number(headers["content-length"] ?? 0) > limit) throw refuse();
  const chunks: Buffer[] = [];
  let size = 0;
  const silent = Promise.withResolvers<never>();
  silent.promise.catch(() => undefined); // nobody may wait when it is told
  const timer = setTimeout(
    () => silent.reject(new AppError("request.timed_out", `the next piece did not come within ${silenceMs / 1_000} s`)),
    silenceMs,
  );
  // A refusal still goes out over the connection.
  const pieces: AsyncIterator<Buffer> = raw.iterator({ destroyOnReturn: false });
  try {
    for (;;) {
      const next = await Promise.race([pieces.next(), silent.promise]);
      if (next.done === true) break;
      timer.refresh();
      size += next.value.length;
      if (size > limit) throw refuse();
      if (!take(next.value.length))
        throw new AppError("request.rate_limited", "there are too many large model requests under way", {
          retryAfterSeconds: 1,
        });
      chunks.push(next.value);
    }
  } finally {
    clearTimeout(timer);
  }
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
}

/** Chunk by chunk at the agent's pace: nothing is read from the vendor that the agent has not taken. */
async function pass(
  reply: FastifyReply,
  answer: ModelReply,
  toLastWord: (error: unknown) => string | undefined,
): Promise<void> {
  const { raw } = reply;
  reply.hijack();
  for (const [name, value] of Object.entries(reply.getHeaders())) if (value !== undefined) raw.setHeader(name, value);
  for (const [name, value] of Object.entries(answer.headers)) raw.setHeader(name, value);
  raw.setHeader("cache-control", "no-store");
  raw.writeHead(answer.status);
  raw.flushHeaders();
  const closed = new Promise<void>((resolve) => onClosed(raw, resolve));
  try {
    for await (const chunk of answer.chunks) {
      if (raw.destroyed) break;
      if (!raw.write(chunk)) await Promise.race([new Promise((drained) => void raw.once("drain", drained)), closed]);
    }
    raw.end();
  } catch (error) {
    // Expected: the vendor broke off, or the agent hung up. A broken answer is one to the agent too.
    const lastWord = toLastWord(error);
    if (lastWord === undefined) raw.destroy();
    else raw.end(lastWord);
  }
}

interface Gateway {
  readonly deps: Deps;
  readonly room: BodyRoom;
  readonly stopping: AbortSignal;
}

async function serve(
  gateway: Gateway,
  protocol: ModelProtocol,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const worker = await requireSandbox(gateway.deps, request);
  const { take, leave } = gateway.room.open(worker.sandboxId);
  try {
    await exchange(gateway, worker, protocol, request, reply, take);
  } finally {
    leave();
  }
}

async function exchange(
  { deps, stopping }: Gateway,
  worker: WorkerPrincipal,
  protocol: ModelProtocol,
  request: FastifyRequest,
  reply: FastifyReply,
  take: (bytes: number) => boolean,
): Promise<void> {
  const [path = "", query = ""] = (request.raw.url ?? "").slice(PREFIX.length + protocol.length).split("?", 2);
  const route = findModelRoute(protocol, request.method, path);
  if (route === undefined)
    throw new AppError("route.not_found", `the gateway does not pass ${request.method} ${path.slice(0, 200)}`);
  const bytes = await readBody(request, {
    bytes: deps.config.modelBodyMb * MEBIBYTE,
    silenceMs: deps.config.modelRequestSilenceSeconds * 1_000,
    take,
  });
  const signal = signalOf(reply.raw, [stopping]);
  const answer = await callModel(deps, worker, { route, query, headers: request.headers, bytes }, signal);
  /** A stream can say why it ends. */
  const toLastWord = (error: unknown) => {
    const isStream = !("error" in answer) && answer.headers["content-type"]?.startsWith("text/event-stream") === true;
    if (!isStream || !(error instanceof AppError) || error.code !== "model.timed_out") return undefined;
    return toVendorEvent(protocol, toProblem(error, request.id, deps.log), error.code);
  };
  if (!("error" in answer)) return pass(reply, answer, toLastWord);
  refuse(deps, protocol, request, reply, answer.error);
  // The agent's processes may stand still from the next moment on: the refusal is on its way first.
  await new Promise<void>((resolve) => {
    if (reply.raw.writableFinished || reply.raw.destroyed) return resolve();
    reply.raw.once("finish", resolve).once("close", resolve);
  });
  await deps.models
    .track(answer.afterwards(stopping))
    .catch((error: unknown) =>
      deps.log.warn("gateway.not_paused", { sandbox: worker.sandboxId, reason: String(error) }),
    );
}

function refuse(
  deps: Deps,
  protocol: ModelProtocol | undefined,
  request: FastifyRequest,
  reply: FastifyReply,
  error: unknown,
): void {
  const refusal = toAppError(error);
  const problem = toProblem(refusal, request.id, deps.log);
  if (problem.status === 401) void reply.header("www-authenticate", "Bearer");
  if (refusal.retryAfterSeconds !== undefined) void reply.header("retry-after", refusal.retryAfterSeconds);
  // What is left of a refused request is not waited for.
  if (!request.raw.complete) void reply.header("connection", "close");
  const body = toVendorProblem(protocol, problem, refusal.code);
  void reply.header("x-should-retry", body.retry ? "true" : "false");
  void reply.status(problem.status).type("application/problem+json").send(JSON.stringify(body.document));
}

export async function mountGateway(app: FastifyInstance, deps: Deps, stopping: AbortSignal): Promise<void> {
  const limit = deps.config.modelBodyMb * MEBIBYTE;
  const gateway = { deps, stopping, room: createBodyRoom(LARGE.perSandbox * limit, LARGE.all * limit) };
  await app.register(async (scope) => {
    // Bodies are the vendors': they are read here, under a limit of their own.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", (_request, _payload, done) => done(null, undefined));
    scope.route<{ Params: { protocol: string } }>({
      method: ["GET", "POST"],
      url: `${PREFIX}:protocol/*`,
      handler: async (request, reply) => {
        const { protocol } = request.params;
        const known = isModelProtocol(protocol) ? protocol : undefined;
        try {
          if (known === undefined) {
            await requireSandbox(deps, request);
            throw new AppError("route.not_found", `there is no gateway for ${protocol.slice(0, 50)}`);
          }
          await serve(gateway, known, request, reply);
        } catch (error) {
          // Expected: any refusal. An answer that has begun cannot be one any more.
          if (reply.raw.headersSent || reply.raw.destroyed) reply.raw.destroy();
          else refuse(deps, known, request, reply, error);
        }
        return reply;
      },
    });
  });
}
