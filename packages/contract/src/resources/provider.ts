/** A provider of this server: whether it could make a sandbox now. */
import { z } from "zod";
import { Provider } from "./sandbox.ts";

export const ProviderState = z.object({
  name: Provider,
  /** Makes the sandboxes of requests that name none. */
  is_default: z.boolean(),
  is_ready: z.boolean(),
  /** What is wrong and what helps; null when it is ready. */
  problem: z.string().nullable(),
  /** What it can do beyond running commands; empty when it is not ready. */
  capabilities: z.array(z.string()),
});
export type ProviderState = z.infer<typeof ProviderState>;
