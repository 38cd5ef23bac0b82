/** The worker says how far a message came. */
import { MESSAGE, step } from "@drover/core";
import { AppError, type MessageAck, type MessageId, type MessageState } from "@drover/contract";
import { lockMessage, updateMessageState } from "../store/messages.ts";
import { lockSandboxes } from "../store/sandboxes.ts";
import { loadForWorker } from "./current-worker.ts";
import type { Deps } from "./deps.ts";
import { draftSandboxEvent, writeWithEvents } from "./event-log.ts";
import type { WorkerIdentity } from "./ingest-events.ts";

export async function ackMessage(
  deps: Deps,
  worker: WorkerIdentity,
  id: MessageId,
  ack: MessageAck,
): Promise<{ message_id: MessageId; state: MessageState }> {
  const state = await writeWithEvents(deps, async (tx, append): Promise<MessageState> => {
    const [sandbox] = await lockSandboxes(tx, [worker.sandboxId]);
    if (sandbox === undefined) throw new AppError("sandbox.not_found");
    await loadForWorker(tx, worker);
    const message = await lockMessage.maybe(tx, worker.sandboxId, id);
    if (message === undefined) throw new AppError("message.not_found");
    const next = step(MESSAGE, message.state, ack.status);
    if (!next.ok)
      throw new AppError(
        "message.illegal_transition",
        `a message that is ${message.state} cannot become ${ack.status}`,
      );
    if (next.to === message.state) {
      // The gateway sees a message before the worker has told of the turn that it begins.
      if (next.to === "seen" && ack.turn !== undefined && ack.turn !== message.turn)
        await updateMessageState(tx, id, next.to, ack.turn, null);
      return message.state;
    }
    await updateMessageState(tx, id, next.to, ack.turn ?? null, ack.detail ?? null);
    await append([
      draftSandboxEvent(deps.ids, sandbox, {
        eventType: "MESSAGE_STATE_CHANGED",
        data: {
          message_id: id,
          state: next.to,
          message_type: message.message_type,
          ...(ack.turn === undefined ? {} : { turn: ack.turn }),
          ...(ack.detail === undefined ? {} : { detail: ack.detail }),
        },
      }),
    ]);
    return next.to;
  });
  deps.fault("message.acked");
  return { message_id: id, state };
}
