/** One typed method per endpoint of the contract. */
import { api, type Api, type EndpointName } from "@drover/contract";
import { toCall, type Call, type CallContext } from "./call.ts";

export type Calls = { readonly [Name in EndpointName]: Call<Api[Name]> };

export function toCalls(context: CallContext): Calls {
  const entries = Object.entries(api).map(([name, endpoint]) => [name, toCall(context, endpoint)]);
  // The table decides names and types; a loop over it cannot tell them apart.
  return Object.fromEntries(entries) as Calls;
}
