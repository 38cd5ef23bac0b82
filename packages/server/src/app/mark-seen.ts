/** Messages that stand in a model request are seen: the gateway knows it better than any worker. */
import { pickSeen, type RequestBody } from "@drover/core";
import { listUnseen } from "../store/messages.ts";
import { ackMessage } from "./ack-message.ts";
import type { Deps } from "./deps.ts";
import type { WorkerIdentity } from "./ingest-events.ts";

export async function markSeen(deps: Deps, worker: WorkerIdentity, body: RequestBody, turn: number): Promise<number> {
  const seen = pickSeen(body, await listUnseen(deps.db, worker.sandboxId));
  for (const { id } of seen) await ackMessage(deps, worker, id, { status: "seen", turn });
  return seen.length;
}
