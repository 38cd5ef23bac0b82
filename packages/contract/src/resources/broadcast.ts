/** One message to many agents: each gets it through its own queue, and each has a receipt of its own. */
import { z } from "zod";
import { MessageId, ProjectId, SandboxId, TicketId } from "../ids.ts";
import { NewMessage } from "./message.ts";

export const BROADCAST_LIMIT = 500;

/** To the agents of the ticket, else of the project, that can still receive something. */
export const NewBroadcast = NewMessage.extend({ project_id: ProjectId.optional(), ticket_id: TicketId.optional() });
export type NewBroadcast = z.infer<typeof NewBroadcast>;

export const Broadcast = z.object({
  status: z.literal("queued"),
  recipient_count: z.int().nonnegative(),
  recipients: z.array(z.object({ sandbox_id: SandboxId, message_id: MessageId })),
});
export type Broadcast = z.infer<typeof Broadcast>;
