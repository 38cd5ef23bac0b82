/** Where agent servers tell what happens in their conversations: the signature stands for the credential, over the bytes as they came. */
import { createHmac, timingSafeEqual } from "node:crypto";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { API_BASE, AppError } from "@drover/contract";
import { DeliveredEvents } from "@drover/contract/openhands";
import type { Deps } from "../app/deps.ts";
import { receiveAgentEvents } from "../app/receive-agent-events.ts";
import { parseJson, readBytes } from "./body.ts";
import { toInvalid } from "./problem.ts";

/** A signature that is older or newer by more is none, as Standard Webhooks has it. */
const TOLERANCE_SECONDS = 300;
const PATH = "/webhooks/agent-events";

const isSame = (one: Buffer, other: Buffer) => one.length === other.length && timingSafeEqual(one, other);

/** Of the several signatures and secrets that may be there, one pair has to fit. */
function requireSigned(deps: Deps, { headers }: FastifyRequest, body: Buffer): void {
  const secrets = deps.config.agentEventsSecret?.split(",");
  if (secrets === undefined)
    throw new AppError("auth.forbidden", "DROVER_AGENT_EVENTS_SECRET is not set; deliveries are refused without it");
  const { "webhook-id": id, "webhook-timestamp": at, "webhook-signature": signatures } = headers;
  if (typeof id !== "string" || typeof at !== "string" || typeof signatures !== "string" || !/^\d{1,12}$/.test(at))
    throw new AppError("auth.required", "the delivery is not signed");
  if (Math.abs(deps.clock.now().getTime() / 1_000 - Number(at)) > TOLERANCE_SECONDS)
    throw new AppError("auth.required", "the delivery was signed too long ago, or by another clock");
  const given = signatures
    .split(" ")
    .flatMap((one) => (one.startsWith("v1,") ? [Buffer.from(one.slice("v1,".length), "base64")] : []));
  const isSigned = secrets.some((secret) => {
    const key = Buffer.from(secret.slice("whsec_".length), "base64");
    const wanted = createHmac("sha256", key).update(`${id}.${at}.`).update(body).digest();
    return given.some((one) => isSame(one, wanted));
  });
  if (!isSigned) throw new AppError("auth.required", "the signature is not that of this delivery");
}

export async function mountAgentEvents(app: FastifyInstance, deps: Deps): Promise<void> {
  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", (_request, payload, done) => {
      readBytes(payload).then(
        (bytes) => done(null, bytes),
        (error: unknown) => done(error as Error),
      );
    });
    // Also below the base path, where everything else is.
    for (const path of [PATH, API_BASE + PATH])
      scope.post(path, async (request) => {
        const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
        requireSigned(deps, request, body);
        const parsed = DeliveredEvents.safeParse(parseJson(body));
        if (!parsed.success) throw toInvalid(parsed.error, "body");
        return receiveAgentEvents(deps, parsed.data);
      });
  });
}
