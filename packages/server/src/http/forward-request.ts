/** Hands a request on to the replica that can answer it, with the caller's own credential. */
import { request as requestHttp, type IncomingMessage } from "node:http";
import { request as requestHttps } from "node:https";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Deps } from "../app/deps.ts";
import { findPeer, toUnreachable, type StandsElsewhere } from "../app/stand-elsewhere.ts";

/** Set on what was handed on: nothing goes further than one step. */
export const FORWARDED = "x-drover-forwarded";
const CONNECT_LIMIT_MS = 5_000;
const HANDED_ON = ["authorization", "cookie", "accept", "range", "idempotency-key"] as const;
const HANDED_BACK = ["content-type", "content-length", "content-disposition", "cache-control", "retry-after"] as const;

function ask(address: string, request: FastifyRequest, signal: AbortSignal): Promise<IncomingMessage> {
  // A request line may name a whole address; where it goes is ours to say.
  const { pathname, search } = new URL(request.url, "http://localhost");
  const url = new URL(`${pathname}${search}`, address);
  const body = request.body === undefined ? undefined : JSON.stringify(request.body);
  const headers: Record<string, string | number> = {
    // What the caller called us is not what the other one is called; every server answers to this.
    host: "localhost",
    "x-request-id": request.id,
    [FORWARDED]: "1",
  };
  for (const name of HANDED_ON) {
    const value = request.headers[name];
    if (typeof value === "string") headers[name] = value;
  }
  if (body !== undefined) {
    headers["content-type"] = "application/json";
    headers["content-length"] = Buffer.byteLength(body);
  }
  return new Promise((resolve, reject) => {
    const send = url.protocol === "https:" ? requestHttps : requestHttp;
    const outgoing = send(url, { method: request.method, headers, signal, agent: false });
    outgoing.once("socket", (socket) => {
      const limit = setTimeout(() => socket.destroy(new Error("no connection in time")), CONNECT_LIMIT_MS);
      socket.once("connect", () => clearTimeout(limit));
      socket.once("close", () => clearTimeout(limit));
    });
    outgoing.once("response", resolve);
    outgoing.once("error", reject);
    outgoing.end(body);
  });
}

export async function forwardRequest(
  deps: Deps,
  elsewhere: StandsElsewhere,
  {
    request,
    reply,
    signal,
  }: { readonly request: FastifyRequest; readonly reply: FastifyReply; readonly signal: AbortSignal },
): Promise<FastifyReply> {
  if (request.headers[FORWARDED] !== undefined) throw elsewhere;
  const address = await findPeer(deps, elsewhere);
  const answer = await ask(address, request, signal).catch((cause: unknown) => {
    throw toUnreachable(elsewhere.host, address, cause);
  });
  for (const name of HANDED_BACK) {
    const value = answer.headers[name];
    if (value !== undefined) void reply.header(name, value);
  }
  return reply.status(answer.statusCode ?? 502).send(answer);
}
