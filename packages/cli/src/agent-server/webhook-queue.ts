/** Tells a conversation's events to another program: in batches, in order, again until they are taken, and kept when they are not. */
import { createHmac, randomUUID } from "node:crypto";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { WebhookSettings } from "./settings.ts";
import type { LogEvent } from "./wire.ts";

const FLUSH_MS = 1_000;
const TIME_LIMIT_MS = 10_000;
const DEAD = "dead-letters.jsonl";

export interface WebhookQueue {
  add(conversationId: string, event: LogEvent, seq: number): void;
  /** Sends what waits, within its tries. */
  close(): Promise<void>;
}

interface Waiting {
  readonly conversationId: string;
  readonly seq: number;
  readonly event: LogEvent;
}

const toSignature = (secret: string, id: string, seconds: number, body: string) =>
  `v1,${createHmac("sha256", Buffer.from(secret.slice("whsec_".length), "base64"))
    .update(`${id}.${seconds}.${body}`)
    .digest("base64")}`;

export function openWebhookQueue(settings: WebhookSettings, directory: string): WebhookQueue {
  const waiting: Waiting[] = [];
  const closing = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let sending: Promise<void> = Promise.resolve();

  const post = async (id: string, body: string): Promise<string | undefined> => {
    const seconds = Math.floor(Date.now() / 1_000);
    const { secret } = settings;
    try {
      const answer = await fetch(settings.webhook_url, {
        method: settings.method,
        headers: {
          "content-type": "application/json",
          ...settings.headers,
          "webhook-id": id,
          "webhook-timestamp": String(seconds),
          ...(secret === undefined ? {} : { "webhook-signature": toSignature(secret, id, seconds, body) }),
        },
        body,
        redirect: "manual",
        signal: AbortSignal.timeout(TIME_LIMIT_MS),
      });
      await answer.body?.cancel();
      return answer.ok ? undefined : `answered ${answer.status}`;
    } catch (error) {
      // Expected: nobody listens there, or it takes too long.
      return error instanceof Error ? error.message : String(error);
    }
  };

  const deliver = async (batch: readonly Waiting[]) => {
    const [first] = batch;
    if (first === undefined) return;
    const id = randomUUID();
    const body = JSON.stringify({
      conversation_id: first.conversationId,
      first_seq: first.seq,
      last_seq: batch.at(-1)?.seq,
      events: batch.map(({ seq, event }) => ({ seq, ...event })),
    });
    let why: string | undefined;
    for (let attempt = 0; attempt <= settings.num_retries; attempt += 1) {
      if (attempt > 0)
        await setTimeout(settings.retry_delay * 1_000, undefined, { signal: closing.signal }).catch(() => undefined);
      why = await post(id, body);
      if (why === undefined) return;
    }
    const letter = { id, webhook_url: settings.webhook_url, reason: why, at: new Date().toISOString(), body };
    appendFileSync(join(directory, DEAD), `${JSON.stringify(letter)}\n`, { mode: 0o600 });
  };

  /** Batches are of one conversation each, so that its numbers have no holes. */
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    const all = waiting.splice(0);
    const groups = Map.groupBy(all, ({ conversationId }) => conversationId);
    for (const group of groups.values())
      for (let from = 0; from < group.length; from += settings.event_buffer_size) {
        const batch = group.slice(from, from + settings.event_buffer_size);
        sending = sending.then(() => deliver(batch));
      }
  };

  return {
    add: (conversationId, event, seq) => {
      waiting.push({ conversationId, event, seq });
      if (waiting.length >= settings.event_buffer_size) flush();
      else timer ??= globalThis.setTimeout(flush, FLUSH_MS);
    },
    close: async () => {
      closing.abort();
      flush();
      await sending;
    },
  };
}
