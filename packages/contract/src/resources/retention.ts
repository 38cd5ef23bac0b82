/** What is removed because its project keeps it no longer. */
import { z } from "zod";
import { ProjectId, SandboxId } from "../ids.ts";
import { Timestamp } from "../time.ts";

export const Retention = z.strictObject({ dry_run: z.boolean().default(false) });

export const RetentionReport = z.object({
  dry_run: z.boolean(),
  /** Oldest first; more may follow in the next pass. */
  items: z.array(
    z.object({
      sandbox_id: SandboxId,
      project_id: ProjectId,
      ended_at: Timestamp,
      events: z.int().nonnegative(),
    }),
  ),
});
export type RetentionReport = z.infer<typeof RetentionReport>;
