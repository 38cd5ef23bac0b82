/** A recorded run with what a careful person would say of it: what the guardian's signals are measured on. */
import { z } from "zod";
import { JsonObject } from "../json.ts";

export const RecordedSession = z.object({
  name: z.string(),
  prompt: z.string(),
  owned_files: z.array(z.string()).readonly(),
  context_tokens: z.number().nullable(),
  events: z.array(
    z.object({
      seq: z.int().positive(),
      event_type: z.string(),
      event_data: JsonObject,
      source: z.string(),
      atMs: z.number(),
    }),
  ),
  label: z.object({
    /** What should be raised at some point. */
    signals: z.array(z.string()).readonly(),
    /** What would be no mistake either: neither right nor wrong. */
    tolerated: z.array(z.string()).readonly(),
    is_healthy: z.boolean(),
    /** Where the trouble begins. */
    from_seq: z.int().positive().optional(),
  }),
});
export type RecordedSession = z.infer<typeof RecordedSession>;
