/** Vendors of models over HTTP, with connections kept open. */
import { Agent as HttpAgent, request as requestHttp, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import { AppError } from "@drover/contract";
import type { ModelVendor, VendorAnswer, VendorCall } from "../ports/model-vendor.ts";

export interface HttpVendorOptions {
  /** How long a vendor may say nothing. */
  readonly silenceMs: number;
}

const toTimedOut = ({ host }: URL, { silenceMs }: HttpVendorOptions) =>
  new AppError("model.timed_out", `${host} said nothing for ${silenceMs / 1_000} s`);

/** Only the vendor's silence counts: while the reader takes its time nobody listens. */
async function* listen(response: IncomingMessage, url: URL, options: HttpVendorOptions): AsyncGenerator<Uint8Array> {
  let isListening = true;
  const timer = setTimeout(() => {
    if (isListening) response.destroy(toTimedOut(url, options));
  }, options.silenceMs);
  try {
    for await (const chunk of response as AsyncIterable<Uint8Array>) {
      isListening = false;
      yield chunk;
      isListening = true;
      timer.refresh();
    }
  } finally {
    clearTimeout(timer);
  }
}

export function openHttpVendors(options: HttpVendorOptions): ModelVendor {
  const agents = { "http:": new HttpAgent({ keepAlive: true }), "https:": new HttpsAgent({ keepAlive: true }) };

  const toAnswer = (response: IncomingMessage, url: URL): VendorAnswer => ({
    status: response.statusCode ?? 502,
    headers: response.headers,
    body: listen(response, url, options),
    isReplay: false,
  });

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
      const timer = setTimeout(() => outgoing.destroy(toTimedOut(url, options)), options.silenceMs);
      outgoing.once("error", (error: NodeJS.ErrnoException) => {
        clearTimeout(timer);
        // The vendor closed an idle connection while we wrote: it has not seen the request.
        resolve({ error, isStale: outgoing.reusedSocket && error.code === "ECONNRESET" });
      });
      outgoing.once("response", (response) => {
        clearTimeout(timer);
        resolve({ answer: toAnswer(response, url) });
      });
      outgoing.end(call.body);
    });

  return {
    send: async (call, signal) => {
      const url = new URL(call.url);
      let outcome = await attempt(call, url, signal);
      if ("error" in outcome && outcome.isStale && !signal.aborted) outcome = await attempt(call, url, signal);
      if ("answer" in outcome) return outcome.answer;
      if (outcome.error instanceof AppError) throw outcome.error;
      const reason = outcome.error.code ?? outcome.error.message;
      throw new AppError("model.unavailable", `${url.host} does not answer: ${reason}`, { cause: outcome.error });
    },
    close: async () => {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}
