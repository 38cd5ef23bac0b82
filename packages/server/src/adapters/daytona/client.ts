/** The SDK, imported when it is first needed: it is large, and an installation may do without it. */
import { AppError } from "@drover/contract";
import type * as DaytonaSdk from "@daytona/sdk";
import { toAppError, type CallKind } from "./failure.ts";

export type Sdk = typeof DaytonaSdk;

export interface ClientOptions {
  readonly apiKey: string | undefined;
  readonly apiUrl: string;
  readonly target: string;
  /** How the SDK comes in; tests replace it. */
  readonly loadSdk?: () => Promise<Sdk>;
}

export interface Client {
  readonly sdk: Sdk;
  readonly daytona: DaytonaSdk.Daytona;
  /** Awaits what the SDK does and translates its errors. The SDK takes no signal: on abort it goes on, and nobody waits for it. */
  call<Result>(kind: CallKind, signal: AbortSignal, work: () => Promise<Result>): Promise<Result>;
}

const isMissing = (error: unknown) =>
  error instanceof Error &&
  "code" in error &&
  (error.code === "ERR_MODULE_NOT_FOUND" || error.code === "MODULE_NOT_FOUND");

async function loadSdk(load: () => Promise<Sdk>): Promise<Sdk> {
  try {
    return await load();
  } catch (cause) {
    if (!isMissing(cause)) throw cause;
    throw new AppError("provider.unavailable", "Daytona's SDK is not installed: npm install @daytona/sdk", { cause });
  }
}

/** Rejects as soon as the signal aborts, whatever becomes of the promise. */
async function untilAborted<Result>(promise: Promise<Result>, signal: AbortSignal): Promise<Result> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
    promise.catch(() => undefined);
  }
}

export function requireKey(apiKey: string | undefined): string {
  if (apiKey === undefined || apiKey === "")
    throw new AppError("provider.unavailable", "Daytona needs a key: set DAYTONA_API_KEY");
  return apiKey;
}

export async function openClient(options: ClientOptions): Promise<Client> {
  const { apiUrl, target } = options;
  const apiKey = requireKey(options.apiKey);
  const sdk = await loadSdk(options.loadSdk ?? (() => import("@daytona/sdk")));
  // Polling sees a new state within 100 ms and needs no socket that outlives the call; the SDK's events are seen after up to 1 s.
  const daytona = new sdk.Daytona({ apiKey, apiUrl, target, useDeprecatedPolling: true });
  return {
    sdk,
    daytona,
    call: async (kind, signal, work) => {
      signal.throwIfAborted();
      try {
        return await untilAborted(work(), signal);
      } catch (error) {
        signal.throwIfAborted();
        throw toAppError(sdk, error, kind);
      }
    },
  };
}
