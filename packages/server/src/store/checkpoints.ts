/** What the log says about checkpoints and transcripts. */
import type { SandboxId } from "@drover/contract";
import { z } from "zod";
import { query } from "./query.ts";
import { sql } from "./sql.ts";

const SAMPLE_ID = "drover-00000000-000000" as SandboxId;

const Row = z.object({ seq: z.number(), created_at: z.date(), event_data: z.unknown() });

/** Oldest first. */
export const listCheckpoints = query(
  "events.list_checkpoints",
  Row,
  [SAMPLE_ID, 1],
  (sandboxId: SandboxId, atSeq: number) => sql`
  select seq, created_at, event_data from events
  where sandbox_id = ${sandboxId} and event_type = 'workspace.checkpoint' and seq <= ${atSeq}
  order by seq limit 100000`,
);
