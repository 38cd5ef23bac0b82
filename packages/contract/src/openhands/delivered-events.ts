/** A webhook of an agent server: consecutive events of one conversation, each with its number. */
import { z } from "zod";
import { OpenHandsEvent } from "./openhands-event.ts";

const DeliveredEvent = OpenHandsEvent.extend({ seq: z.int().nonnegative() });
export type DeliveredEvent = z.infer<typeof DeliveredEvent>;

/** Other fields, such as `first_seq`, say the same again. */
export const DeliveredEvents = z.looseObject({
  conversation_id: z.uuid(),
  events: z.array(DeliveredEvent).min(1).max(1_000),
});
