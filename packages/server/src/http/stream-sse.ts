/** One sandbox's log as Server-Sent Events; `Last-Event-ID` resumes after that seq. */
import { AppError, type SandboxId } from "@drover/contract";
import type { Person } from "../app/credential.ts";
import { toAudience, type TailEvent } from "../app/tail-event.ts";
import type { Context } from "./context.ts";
import { onClosed } from "./hang-up.ts";
import { parseSessionCookie } from "./session-cookie.ts";
import { openSubscriber } from "./subscriber.ts";

const BUFFER_LIMIT_BYTES = 1024 * 1024;
const KEEP_ALIVE_MS = 15_000;
const END_MS = 1_000;

function parseLastEventId(header: unknown): number | undefined {
  if (header === undefined || header === "") return undefined;
  const seq = typeof header === "string" && /^\d+$/.test(header) ? Number(header) : -1;
  if (!Number.isSafeInteger(seq) || seq < 0) throw new AppError("request.invalid", "Last-Event-ID is not a seq");
  return seq;
}

const toText = (event: TailEvent) => `id: ${event.seq}\ndata: ${event.json}\n\n`;

/** Resolves when the stream has ended; the reply is written by hand. */
export async function streamSandbox(
  context: Context,
  person: Person,
  sandboxId: SandboxId,
  asked: number | undefined,
): Promise<void> {
  const { deps, reply, request } = context;
  const afterSeq = parseLastEventId(request.headers["last-event-id"]) ?? asked;
  reply.hijack();
  const out = reply.raw;
  const isOver = new Promise<void>((resolve) => onClosed(out, resolve));
  out.writeHead(200, {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
    "x-request-id": request.id,
    "x-content-type-options": "nosniff",
  });
  out.flushHeaders();
  const subscriber = openSubscriber({
    tail: deps.tail,
    sink: {
      writeEvents: (events) => out.write(events.map(toText).join("")) || out.writableLength < BUFFER_LIMIT_BYTES,
      writeSync: (from_seq, through_seq) =>
        out.write(`event: sync\ndata: ${JSON.stringify({ type: "sync", from_seq, through_seq })}\n\n`),
      onDrain: (listener) => out.on("drain", listener),
      stall: () => out.destroy(),
    },
    audience: toAudience(person.grant.projectId, { entity_ids: [sandboxId] }),
    afterSeq,
    stallMs: deps.config.streamStallSeconds * 1_000,
    onError: (error) => deps.log.warn("stream.read_failed", { reason: String(error) }),
  });
  // A bearer token is looked at before a cookie, so a cookie beside one is not what opened this.
  const session = request.headers.authorization === undefined ? parseSessionCookie(request.headers.cookie) : undefined;
  const unwatch = context.watch.add({ who: person, session, end: () => finish() });
  const keepAlive = setInterval(() => out.write(": alive\n\n"), KEEP_ALIVE_MS);
  // Nothing is written after the end; who does not read it is hung up on.
  const finish = () => {
    clearInterval(keepAlive);
    subscriber.close();
    out.end();
    setTimeout(() => out.destroy(), END_MS).unref();
  };
  context.waiting.addEventListener("abort", finish, { once: true });
  await isOver;
  clearInterval(keepAlive);
  unwatch();
  subscriber.close();
}
