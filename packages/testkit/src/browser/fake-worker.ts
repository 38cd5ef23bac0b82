/** A worker that speaks the public HTTP contract, as any program may. So these tests are tests of the contract, too. */
import { createClient } from "@drover/client";
import type { CreatedSandbox, InboxMessage, NewSandbox } from "@drover/contract";

export interface WorkerEvent {
  readonly event_type: string;
  readonly event_data?: Readonly<Record<string, unknown>>;
  readonly source?: "agent" | "worker" | "system";
  readonly client_event_id?: string;
}

export interface FakeWorker {
  readonly id: string;
  readonly created: CreatedSandbox;
  post(...events: readonly WorkerEvent[]): Promise<void>;
  /** False when the server is away; nothing is repeated. */
  tryPost(...events: readonly WorkerEvent[]): Promise<boolean>;
  receive(): Promise<readonly InboxMessage[]>;
  ack(messageId: string, status: "delivered" | "seen" | "failed", turn?: number): Promise<void>;
}

export const say = (content: string, turn = 1): WorkerEvent => ({
  event_type: "agent.message",
  event_data: { content, turn },
});

const BATCH = 500;

export async function startFakeWorker(url: string, adminToken: string, input: NewSandbox = {}): Promise<FakeWorker> {
  const created = await createClient({ baseUrl: url, token: adminToken }).createSandbox({
    body: { provider: "external", prompt: "Fake work", ...input },
  });
  const worker = createClient({ baseUrl: url, token: created.worker_token });
  const params = { sandbox_id: created.id };
  const send = (events: readonly WorkerEvent[], retries: number) =>
    // The events are what a test wants to send, right or wrong.
    worker.ingestEvents({ params, body: { events: [...events] as never } }, { retries });
  return {
    id: created.id,
    created,
    post: async (...events) => {
      for (let from = 0; from < events.length; from += BATCH) await send(events.slice(from, from + BATCH), 5);
    },
    tryPost: (...events) =>
      send(events, 0).then(
        () => true,
        () => false,
      ),
    receive: () => worker.receiveMessages({ params, query: { lease: 60, wait: 10 } }),
    ack: async (messageId, status, turn) => {
      await worker.ackMessage({
        params: { ...params, message_id: messageId },
        body: { status, ...(turn === undefined ? {} : { turn }) },
      });
    },
  };
}
