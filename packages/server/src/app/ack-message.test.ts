/** Every cell of the message table, through HTTP and the real store. */
import { MESSAGE, step, type MessageTrigger } from "@drover/core";
import type { MessageState } from "@drover/contract";
import { expect } from "vitest";
import { findWays, listStates, listTriggers } from "../../../testkit/src/machine-suite.ts";
import { test, type TestServer } from "../../../testkit/src/server.ts";
import { sql } from "../store/sql.ts";

interface Messenger {
  readonly sandboxId: string;
  readonly messageId: string;
  token: string;
}

async function sendOne(server: TestServer): Promise<Messenger> {
  const { id, token } = await server.createSandbox();
  const { body } = await server.call("POST", `/sandboxes/${id}/messages`, { body: { content: "hello" } });
  return { sandboxId: id, messageId: body.message_id, token };
}

const acknowledge =
  (status: string) =>
  (server: TestServer, { sandboxId, messageId, token }: Messenger) =>
    server
      .call("POST", `/sandboxes/${sandboxId}/messages/${messageId}/ack`, { token, body: { status } })
      .then((answer) => answer.status);

/** How each trigger comes about. What it answers counts only for acknowledgements: the others pass over a message that they do not concern. */
const DEEDS: Readonly<
  Record<MessageTrigger, (server: TestServer, messenger: Messenger) => Promise<number | undefined>>
> = {
  leased: async (server, { sandboxId, token }) => {
    await server.call("GET", `/sandboxes/${sandboxId}/messages?lease=300`, { token });
    return undefined;
  },
  lease_expired: async (server, { messageId }) => {
    await server.db.query(
      sql`update messages set leased_until = now() - interval '1 second' where id = ${messageId} and state = 'leased'`,
    );
    return undefined;
  },
  delivered: acknowledge("delivered"),
  seen: acknowledge("seen"),
  failed: acknowledge("failed"),
  worker_replaced: async (server, messenger) => {
    const { body } = await server.call("POST", `/sandboxes/${messenger.sandboxId}/worker-token`);
    messenger.token = body.worker_token ?? messenger.token;
    return undefined;
  },
  sandbox_ended: async (server, { sandboxId }) => {
    await server.call("DELETE", `/sandboxes/${sandboxId}`);
    return undefined;
  },
};

const stateOf = async (server: TestServer, { sandboxId }: Messenger): Promise<MessageState> =>
  (await server.call("GET", `/sandboxes/${sandboxId}/messages/history`)).body.items[0].state;

const ways = findWays<MessageState, MessageTrigger>(MESSAGE, "queued");
const CELLS = listStates<MessageState, MessageTrigger>(MESSAGE).flatMap((state) =>
  listTriggers<MessageState, MessageTrigger>(MESSAGE).map((on) => [state, on] as const),
);
const ACKS: ReadonlySet<MessageTrigger> = new Set(["delivered", "seen", "failed"]);

test.for(CELLS)("a message that is %s, then %s", async ([state, on], { server }) => {
  const messenger = await sendOne(server);
  for (const trigger of ways.get(state) ?? []) await DEEDS[trigger](server, messenger);
  expect(await stateOf(server, messenger)).toBe(state);
  const answer = await DEEDS[on](server, messenger);
  const next = step<MessageState, MessageTrigger>(MESSAGE, state, on);
  expect(await stateOf(server, messenger)).toBe(next.ok ? next.to : state);
  // An expired message is one of an ended sandbox, whose worker has no token any more.
  if (ACKS.has(on)) expect(answer).toBe(next.ok ? 200 : state === "expired" ? 401 : 409);
});
