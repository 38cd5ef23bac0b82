/** Where GitHub tells what happened: the signature stands for the credential, over the bytes as they came. */
import { createHash } from "node:crypto";
import { verify } from "@octokit/webhooks-methods";
import type { FastifyInstance } from "fastify";
import { API_BASE, AppError, findJsonComplaint } from "@drover/contract";
import type { Deps } from "../app/deps.ts";
import { findWebhookSecret, receiveWebhook } from "../app/receive-webhook.ts";
import { readBytes } from "./body.ts";

const DELIVERY = /^[\w-]{1,100}$/;

function parsePayload(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    // Expected: whoever calls sends something else than JSON.
    throw new AppError("request.not_json", "the body is not valid JSON", { cause });
  }
}

export async function mountGitHubWebhook(app: FastifyInstance, deps: Deps): Promise<void> {
  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", (_request, payload, done) => {
      readBytes(payload).then(
        (bytes) => done(null, bytes.toString("utf8")),
        (error: unknown) => done(error as Error),
      );
    });
    for (const path of ["/github/webhooks", "/github/webhooks/github"])
      scope.post(`${API_BASE}${path}`, async (request) => {
        const text = typeof request.body === "string" ? request.body : "";
        const {
          "x-hub-signature-256": signature,
          "x-github-event": event,
          "x-github-delivery": delivery,
        } = request.headers;
        if (typeof signature !== "string") throw new AppError("auth.required", "the delivery is not signed");
        const payload = parsePayload(text);
        const secret = await findWebhookSecret(deps, payload);
        if (secret === undefined)
          throw new AppError("auth.forbidden", "no webhook secret is configured; deliveries are refused without one");
        // Compares in constant time; a signature of another form is none.
        const isSigned = await verify(secret, text, signature).catch(() => false);
        if (!isSigned) throw new AppError("auth.required", "the signature is not that of this delivery");
        const complaint = findJsonComplaint(payload);
        if (complaint !== undefined) throw new AppError("request.invalid", `the body ${complaint}`);
        if (typeof event !== "string" || typeof delivery !== "string" || !DELIVERY.test(delivery))
          throw new AppError("request.invalid", "X-GitHub-Event and X-GitHub-Delivery are needed");
        const digest = createHash("sha256").update(text).digest("hex");
        return receiveWebhook(deps, { id: delivery, digest, event, payload });
      });
  });
}
