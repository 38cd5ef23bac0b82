/** What is owed to a webhook that is away costs nobody else anything. */
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openWebhookQueue } from "./webhook-queue.ts";
import type { LogEvent } from "./wire.ts";

const ID = "11111111-1111-4111-8111-111111111111";

test("however much comes while a webhook does not answer, who stops asks it once more and no oftener", async () => {
  const directory = await mkdtemp(join(tmpdir(), "drover-queue-"));
  const held: ServerResponse[] = [];
  let asked = 0;
  const isAsked = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    asked += 1;
    request.resume();
    if (asked > 1) return void response.writeHead(503).end();
    held.push(response);
    isAsked.resolve();
  });
  await new Promise<void>((done) => void server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  const queue = openWebhookQueue(
    {
      webhook_url: `http://127.0.0.1:${port}/`,
      method: "POST",
      event_buffer_size: 1,
      num_retries: 20,
      retry_delay: 3_600,
      headers: {},
    },
    directory,
  );
  try {
    queue.begin(ID);
    const events: LogEvent[] = [];
    for (let n = 0; n < 200; n += 1) {
      events.push({ id: `event-${n}`, kind: "MessageEvent", source: "user", timestamp: "now" });
      queue.wake(ID, events);
    }
    await isAsked.promise;
    const closed = queue.close();
    for (const response of held) response.writeHead(503).end();
    await closed;
    expect(asked).toBe(2);
  } finally {
    await new Promise<void>((done) => {
      server.close(() => done());
      server.closeAllConnections();
    });
    await rm(directory, { recursive: true, force: true });
  }
});
