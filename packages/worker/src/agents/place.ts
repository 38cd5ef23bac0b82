/** Where a scripted agent is: its mark in the journal, from which it goes on after any death. */
import type { Json } from "@drover/contract";
import { z } from "zod";

const OpenTool = z.object({
  id: z.string(),
  tool: z.string(),
  /** For an edit: what the file held before it, and the events to record once it is made. */
  edit: z
    .object({
      before: z.string(),
      events: z.array(z.object({ event_type: z.string(), event_data: z.record(z.string(), z.json()) })),
    })
    .optional(),
});
export type OpenTool = z.infer<typeof OpenTool>;

const Place = z.object({
  v: z.literal(1),
  phase: z.enum(["working", "idle"]),
  /** Random, so that tool ids of two runs in one sandbox differ. */
  run: z.string(),
  /** The next step of the script. */
  step: z.int(),
  turn: z.int(),
  toolCount: z.int(),
  /** The turn was interrupted: steps are left out until the next one begins. */
  isSkipping: z.boolean(),
  /** The script was played to its end. */
  isOver: z.boolean(),
  lastText: z.string(),
  /** A message is being answered: its text, and the next step of the answer. */
  answer: z.object({ content: z.string(), step: z.int() }).optional(),
  open: OpenTool.optional(),
});
export type Place = z.infer<typeof Place>;

export const startPlace = (run: string): Place => ({
  v: 1,
  phase: "working",
  run,
  step: 0,
  turn: 1,
  toolCount: 0,
  isSkipping: false,
  isOver: false,
  lastText: "",
});

/** The place a mark names; a mark that another version wrote is no place. */
export const toPlace = (mark: Json | undefined): Place | undefined => Place.safeParse(mark).data;

/** The name of what a permission step asks: the same after a restart. */
export const toRequestId = ({ run, turn, step }: Place): string => `permission-${run}-${turn}-${step}`;

/** The step is done: the next one is of the answer being given, else of the script. */
export function advance(place: Place): void {
  if (place.answer === undefined) place.step += 1;
  else place.answer.step += 1;
}
