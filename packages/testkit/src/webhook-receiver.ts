/** A program that receives webhooks: checks each signature with the published library, and answers as it is told. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { JsonObject } from "@drover/contract";

export interface Received {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** The body, as CloudEvents has it. */
  readonly event: { readonly id: string; readonly type: string; readonly sequence?: string; readonly data: JsonObject };
}

export interface WebhookReceiver extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly received: readonly Received[];
}

/** `answer` gives a status, or undefined to leave the caller without one. */
export async function startReceiver(
  answer: (received: Received, count: number) => number | undefined | readonly [number, Record<string, string>],
  { host = "127.0.0.1", port: wanted = 0 } = {},
): Promise<WebhookReceiver> {
  const received: Received[] = [];
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await text(request);
    const one: Received = {
      path: request.url ?? "",
      headers: request.headers as Record<string, string>,
      text: body,
      event: JSON.parse(body) as Received["event"],
    };
    received.push(one);
    const given = answer(one, received.length);
    if (given === undefined) return;
    const [status, headers] = typeof given === "number" ? [given, {}] : given;
    response.writeHead(status, headers).end();
  };
  const server = createServer((request, response) => void handle(request, response).catch(() => response.destroy()));
  await new Promise<void>((done) => void server.listen(wanted, host, done));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${host}:${port}/hook`,
    port,
    received,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}
