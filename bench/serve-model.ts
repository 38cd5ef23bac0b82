/** A vendor as a child of a benchmark: streams as many events as the path says, at the pace it says. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { answer } from "./child.ts";

const toEvent = (type: string, data: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;

const START = toEvent("message_start", {
  message: {
    id: "msg",
    type: "message",
    role: "assistant",
    content: [],
    usage: { input_tokens: 10, output_tokens: 1 },
  },
});
const DELTA = toEvent("content_block_delta", {
  index: 0,
  delta: { type: "text_delta", text: "some words that a model says " },
});
const END = toEvent("message_delta", { delta: {}, usage: { output_tokens: 20 } }) + toEvent("message_stop", {});

/** `everyMs` 0: as fast as the reader reads. */
function stream(response: ServerResponse, events: number, everyMs: number): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(START);
  let left = events;
  const finish = () => void response.end(END);
  if (everyMs > 0) {
    const timer = setInterval(() => {
      if (left-- > 0) return void response.write(DELTA);
      clearInterval(timer);
      finish();
    }, everyMs);
    return;
  }
  const push = () => {
    while (left-- > 0) if (!response.write(DELTA)) return void response.once("drain", push);
    finish();
  };
  push();
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = "";
  for await (const chunk of request) body += String(chunk);
  const { events = 1, every_ms = 0 } =
    (JSON.parse(body) as { metadata?: { events?: number; every_ms?: number } }).metadata ?? {};
  stream(response, events, every_ms);
}

const server = createServer((request, response) => void serve(request, response));

answer(
  {
    start: async () => {
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    },
  },
  async () => {
    server.closeAllConnections();
    server.close();
  },
);
