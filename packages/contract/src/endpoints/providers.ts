/** Where sandboxes can run on this server, and what is missing where they cannot. */
import { z } from "zod";
import { endpoint } from "../endpoint.ts";
import { ProviderState } from "../resources/provider.ts";

export const providerEndpoints = {
  listProviders: endpoint({
    method: "GET",
    path: "/providers",
    access: "person",
    verb: "read",
    summary: "Each provider, looked at now: whether it can make sandboxes, and what helps where it cannot.",
    reply: z.object({ items: z.array(ProviderState), next_cursor: z.null() }),
  }),
} as const;
