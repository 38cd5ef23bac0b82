/** Vendors of models over HTTP, with connections kept open. */
import { Agent as HttpAgent, request as requestHttp, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import { AppError } from "@drover/contract";
import type { ModelVendor, VendorAnswer, VendorCall } from "../ports/model-vendor.ts";

const toAnswer = (response: IncomingMessage): VendorAnswer => ({
  status: response.statusCode ?? 502,
  headers: response.headers,
  body: response,
  isReplay: false,
});

export function openHttpVendors(): ModelVendor {
  const agents = { "http:": new HttpAgent({ keepAlive: true }), "https:": new HttpsAgent({ keepAlive: true }) };

  const attempt = (call: VendorCall, url: URL, signal: AbortSignal) =>
    new Promise<{ answer: VendorAnswer } | { error: NodeJS.ErrnoException; isStale: boolean }>((resolve) => {
      const isSecure = url.protocol === "https:";
      const outgoing = (isSecure ? requestHttps : requestHttp)(url, {
        method: call.method,
        agent: agents[isSecure ? "https:" : "http:"],
        signal,
        headers: {
          ...call.headers,
          ...(call.body === undefined ? {} : { "content-length": call.body.byteLength }),
        },
      });
      outgoing.once("error", (error: NodeJS.ErrnoException) =>
        // The vendor closed an idle connection while we wrote: it has not seen the request.
        resolve({ error, isStale: outgoing.reusedSocket && error.code === "ECONNRESET" }),
      );
      outgoing.once("response", (response) => resolve({ answer: toAnswer(response) }));
      outgoing.end(call.body);
    });

  return {
    send: async (call, signal) => {
      const url = new URL(call.url);
      let outcome = await attempt(call, url, signal);
      if ("error" in outcome && outcome.isStale && !signal.aborted) outcome = await attempt(call, url, signal);
      if ("answer" in outcome) return outcome.answer;
      const reason = outcome.error.code ?? outcome.error.message;
      throw new AppError("model.unavailable", `${url.host} does not answer: ${reason}`, { cause: outcome.error });
    },
    close: async () => {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}
