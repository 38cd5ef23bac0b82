/** A program that is told what happens: makes a webhook for itself, checks every signature, and keeps each event once. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { Webhook } from "standardwebhooks";
import { connect } from "./connect.ts";

const client = connect();
const seen = new Set<string>();
let secret = "";

const server = createServer((request, response) => {
  const answer = async () => {
    const body = await text(request);
    try {
      new Webhook(secret).verify(body, request.headers as Record<string, string>);
    } catch {
      return 401;
    }
    const { id, type, subject } = JSON.parse(body) as { id: string; type: string; subject: string };
    // A try whose answer was lost comes again under the same id.
    if (!seen.has(id)) console.log(`${type} ${subject}`);
    seen.add(id);
    return 204;
  };
  void answer().then((status) => response.writeHead(status).end());
});
await new Promise<void>((done) => void server.listen(Number(process.env["PORT"] ?? 9000), "127.0.0.1", done));

// The server reaches private addresses only where it is told to: DROVER_WEBHOOK_ALLOW=127.0.0.1:9000
const { port } = server.address() as AddressInfo;
const made = await client.createWebhook({ body: { url: `http://127.0.0.1:${port}/`, event_types: ["agent.*"] } });
secret = made.secret;
console.log(`webhook ${made.id}`);

process.once("SIGINT", () => {
  const params = { webhook_id: made.id };
  void client.deleteWebhook({ params }).finally(() => server.close(() => process.exit(0)));
});
