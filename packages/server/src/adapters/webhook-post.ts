/** Posts webhooks by Node's own HTTP client, signed as Standard Webhooks has it, to addresses that were judged before. */
import { createHmac } from "node:crypto";
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import type { NameResolver } from "../ports/egress.ts";
import type { WebhookOrder, WebhookPost } from "../ports/webhook-post.ts";

const TIME_LIMIT_MS = 10_000;
const ANSWER_BYTES = 64 * 1024;
const SECRET_PREFIX = "whsec_";

interface Target {
  readonly host: string;
  readonly port: number;
  readonly isSecure: boolean;
}

export interface WebhookJudge {
  /** Why this host and port are refused, before its name is looked up. */
  complainOfTarget(target: Target): string | undefined;
  complainOfAddresses(target: Target, addresses: readonly string[]): string | undefined;
}

export interface WebhookPostOptions {
  readonly resolver: NameResolver;
  readonly judge: WebhookJudge;
  readonly now: () => Date;
}

function toSignature(secret: string, id: string, seconds: number, body: string): string {
  const key = Buffer.from(secret.slice(SECRET_PREFIX.length), "base64");
  return `v1,${createHmac("sha256", key).update(`${id}.${seconds}.${body}`).digest("base64")}`;
}

function toTarget(url: URL): Target {
  const isSecure = url.protocol === "https:";
  const port = url.port === "" ? (isSecure ? 443 : 80) : Number(url.port);
  return { host: url.hostname.replace(/^\[(.*)\]$/, "$1").toLowerCase(), port, isSecure };
}

function toHeaders(order: WebhookOrder, at: Date): Readonly<Record<string, string>> {
  const seconds = Math.floor(at.getTime() / 1_000);
  return {
    "content-type": order.contentType,
    "content-length": String(Buffer.byteLength(order.body)),
    "user-agent": "drover-webhooks/1",
    "webhook-id": order.id,
    "webhook-timestamp": String(seconds),
    ...(order.secret === null ? {} : { "webhook-signature": toSignature(order.secret, order.id, seconds, order.body) }),
  };
}

/** Seconds, or a date of HTTP. */
function parseRetryAfter(text: string | undefined, now: Date): number | undefined {
  if (text === undefined) return undefined;
  const seconds = /^\d{1,9}$/.test(text) ? Number(text) : (Date.parse(text) - now.getTime()) / 1_000;
  return Number.isFinite(seconds) ? Math.max(0, Math.ceil(seconds)) : undefined;
}

/** However the client looks the name up again, it finds what was judged. */
const toLookup =
  (addresses: readonly string[]): LookupFunction =>
  (_host, options, done) => {
    const all = addresses.map((address) => ({ address, family: isIP(address) }));
    const [first] = all;
    if (first === undefined) return done(new Error("there is no address"), "", 0);
    return options.all === true ? done(null, all) : done(null, first.address, first.family);
  };

export function openWebhookPost({ resolver, judge, now }: WebhookPostOptions): WebhookPost {
  const findComplaint = (text: string): string | undefined => {
    const url = URL.parse(text);
    if (url === null || !/^https?:$/.test(url.protocol)) return "it is not an http address";
    if (url.username !== "" || url.password !== "") return "it holds a name or a password";
    const target = toTarget(url);
    const complaint = judge.complainOfTarget(target);
    if (complaint !== undefined) return complaint;
    return isIP(target.host) === 0 ? undefined : judge.complainOfAddresses(target, [target.host]);
  };

  const send = (url: URL, order: WebhookOrder, addresses: readonly string[], signal: AbortSignal) =>
    new Promise<{ status: number; retryAfterSeconds?: number }>((resolve, reject) => {
      const request = url.protocol === "https:" ? requestHttps : requestHttp;
      const sent = request(url, {
        method: "POST",
        headers: toHeaders(order, now()),
        lookup: toLookup(addresses),
        agent: false,
        signal,
      });
      sent.once("error", reject);
      sent.once("response", (answer) => {
        const retryAfterSeconds = parseRetryAfter(answer.headers["retry-after"], now());
        const status = answer.statusCode ?? 0;
        const end = () => resolve({ status, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) });
        let size = 0;
        // What a receiver says beyond its status means nothing here: it is taken off the wire, up to a limit.
        answer.on("data", (chunk: Buffer) => {
          size += chunk.length;
          if (size > ANSWER_BYTES) answer.destroy();
        });
        answer.once("close", end);
        answer.once("error", end);
      });
      sent.end(order.body);
    });

  return {
    findComplaint,
    post: async (order, signal) => {
      const complaint = findComplaint(order.url);
      if (complaint !== undefined) return { error: complaint };
      const url = new URL(order.url);
      const target = toTarget(url);
      const limit = AbortSignal.any([signal, AbortSignal.timeout(TIME_LIMIT_MS)]);
      try {
        const addresses = await resolver.resolve(target.host, limit);
        const refusal = judge.complainOfAddresses(target, addresses);
        if (refusal !== undefined) return { error: refusal };
        return await send(url, order, addresses, limit);
      } catch (error) {
        signal.throwIfAborted();
        // Expected: nobody listens there, the certificate is not theirs, or it takes too long.
        const reason = limit.aborted ? `no answer within ${TIME_LIMIT_MS / 1_000} s` : String((error as Error).message);
        return { error: reason.slice(0, 300) };
      }
    },
  };
}
