/** Where a conversation with an agent stands: its mark in the journal, from which it goes on after any death. */
import { z } from "zod";

const TalkMark = z.object({
  v: z.literal(1),
  /** The agent's own name for the session; absent before it gave one. */
  sessionId: z.string().optional(),
  turn: z.int(),
  phase: z.enum(["working", "idle"]),
  /** What the running turn was begun with, for an agent that has to be asked again. */
  prompt: z.string().optional(),
  lastText: z.string(),
  cursor: z.int().optional(),
  /** Tools that were begun and not ended. */
  open: z.array(z.object({ id: z.string(), tool: z.string() })).default([]),
  permissions: z.unknown(),
});
export type TalkMark = z.infer<typeof TalkMark>;

export const startMark = (): TalkMark => ({ v: 1, turn: 0, phase: "working", lastText: "", open: [], permissions: [] });

/** A mark that another version wrote is none. */
export const parseMark = (mark: unknown): TalkMark | undefined => TalkMark.safeParse(mark).data;
