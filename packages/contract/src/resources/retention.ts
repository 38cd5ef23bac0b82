/** What is removed because its project keeps it no longer. */
import { z } from "zod";
import { ProjectId, SandboxId } from "../ids.ts";

export const Retention = z.strictObject({ dry_run: z.boolean().default(false) });

/** Oldest first; more may follow in the next pass. */
export const RetentionReport = z.object({
  items: z.array(z.object({ sandbox_id: SandboxId, project_id: ProjectId, ended_at: z.string(), events: z.number() })),
});
export type RetentionReport = z.infer<typeof RetentionReport>;
