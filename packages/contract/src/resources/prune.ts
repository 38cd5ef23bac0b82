/** Removing what nobody needs any more. */
import { z } from "zod";
import { SandboxId } from "../ids.ts";
import { Provider, SandboxState } from "./sandbox.ts";

export const Prune = z.strictObject({
  /** Also those that still work or wait. */
  all: z.boolean().default(false),
  dry_run: z.boolean().default(false),
});
export type Prune = z.infer<typeof Prune>;

/** `stray`: stands at a provider, and no row needs it. The others are rows that are ended. */
export const PruneReason = z.enum(["stray", "ended", "completed", "at_work"]);
export type PruneReason = z.infer<typeof PruneReason>;

export const PruneReport = z.object({
  dry_run: z.boolean(),
  items: z.array(
    z.object({
      provider: Provider,
      /** Its name at the provider. */
      key: z.string(),
      /** Null when the provider's labels name none. */
      sandbox_id: SandboxId.nullable(),
      /** Before this; null when no row is known. */
      state: SandboxState.nullable(),
      reason: PruneReason,
      /** Null: removed, or to be in a dry run. */
      error: z.string().nullable(),
    }),
  ),
});
export type PruneReport = z.infer<typeof PruneReport>;
