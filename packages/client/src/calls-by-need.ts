/** Methods for endpoints whose table is not loaded yet: the first call of one loads it. */
import type { Api, Endpoint, EndpointName } from "@drover/contract";
import { callEndpoint, toCall, type CallContext, type CallOptions } from "./call.ts";
import type { Calls } from "./calls.ts";
import { ClientError } from "./client-error.ts";

/** Asked for by everything that is handed a promise's value, and no endpoint. */
const THEN = "then";

export function addCallsByNeed<T extends object>(
  rest: T,
  context: CallContext,
  first: Partial<Api>,
  loadApi: () => Promise<Api>,
): T & Calls {
  // Its names are the business of the table, which is not there: whatever else is asked for by name is an endpoint.
  const known = new Map<string | symbol, unknown>(Object.entries(rest));
  for (const [name, endpoint] of Object.entries<Endpoint>(first)) known.set(name, toCall(context, endpoint));
  const load = async (name: EndpointName): Promise<Endpoint> => {
    const api = await loadApi().catch((cause: unknown) => {
      throw new ClientError("client.unreachable", "a part of this page could not be loaded", { cause });
    });
    return api[name];
  };
  const add = (name: string) => {
    const call = async (input?: object, options?: CallOptions) =>
      callEndpoint(context, await load(name as EndpointName), input, options);
    known.set(name, call);
    return call;
  };
  return new Proxy({} as T & Calls, {
    get: (_, name) => known.get(name) ?? (typeof name === "string" && name !== THEN ? add(name) : undefined),
  });
}
