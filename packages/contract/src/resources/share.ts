/** A link by which anybody may watch one run and nothing else, until it ends. The secret is told once; the store keeps its hash. */
import { z } from "zod";
import { SandboxId, ShareId } from "../ids.ts";
import { Timestamp } from "../time.ts";

const HOUR_SECONDS = 3_600;
const DAY_SECONDS = 24 * HOUR_SECONDS;

export const NewShare = z.strictObject({
  expires_in_s: z
    .int()
    .min(60)
    .max(90 * DAY_SECONDS)
    .default(7 * DAY_SECONDS),
});
export type NewShare = z.infer<typeof NewShare>;

export const Share = z.object({
  id: ShareId,
  sandbox_id: SandboxId,
  created_by: z.string(),
  created_at: Timestamp,
  expires_at: Timestamp,
  last_used_at: Timestamp.nullable(),
  revoked_at: Timestamp.nullable(),
});
export type Share = z.infer<typeof Share>;

/** The secret stands behind the `#` of the path: browsers send that part to nobody. */
export const CreatedShare = Share.extend({ token: z.string(), path: z.string() });
export type CreatedShare = z.infer<typeof CreatedShare>;
