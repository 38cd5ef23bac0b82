/** Tells a conversation's events to another program: in batches, in order, again until they are taken, and kept when they are not. What is owed is
 *  the end of the conversation's log, so that a killed process owes it still. */
import { createHmac } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { keepDeadLetter } from "./dead-letters.ts";
import type { WebhookSettings } from "./settings.ts";
import { openToldFile } from "./told.ts";
import type { LogEvent } from "./wire.ts";

const FLUSH_MS = 1_000;
const TIME_LIMIT_MS = 10_000;
const LONGEST_PAUSE_SECONDS = 3_600;
const DEAD_LETTER_BYTES = 64 * 1024 * 1024;

type Events = readonly LogEvent[];

export interface WebhookQueue {
  /** Before the first event: all of them will be owed. On disk when it returns. */
  begin(conversationId: string): void;
  /** Of an earlier process. What was owed still is; of a conversation that is older than the webhook only what comes. */
  resume(conversationId: string, events: Events): void;
  /** Something was appended. */
  wake(conversationId: string, events: Events): void;
  /** The conversation is no more; calls back when nothing of it is owed. */
  release(conversationId: string, onTold: () => void): void;
  /** Sends what waits, once; what is not taken stays owed. */
  close(): Promise<void>;
}

const toSignature = (secret: string, id: string, seconds: number, body: string) =>
  `v1,${createHmac("sha256", Buffer.from(secret.slice("whsec_".length), "base64"))
    .update(`${id}.${seconds}.${body}`)
    .digest("base64")}`;

/** Before the second try, the third and so on. */
const toPauseSeconds = (first: number, attempt: number) => Math.min(first * 2 ** (attempt - 1), LONGEST_PAUSE_SECONDS);

export function openWebhookQueue(settings: WebhookSettings, directory: string): WebhookQueue {
  const told = openToldFile(directory, settings.webhook_url);
  const logs = new Map<string, Events>();
  const released = new Map<string, () => void>();
  const closing = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let sending: Promise<void> = Promise.resolve();
  let isSet = false;

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

  /** Whether it is owed no longer: it was taken, or is among the dead letters. */
  const deliver = async (id: string, body: string): Promise<boolean> => {
    for (let attempt = 0; ; attempt += 1) {
      const reason = await post(id, body);
      if (reason === undefined) return true;
      if (closing.signal.aborted) return false;
      if (attempt === settings.num_retries) {
        const letter = { id, webhook_url: settings.webhook_url, reason, at: new Date().toISOString(), body };
        keepDeadLetter(directory, letter, DEAD_LETTER_BYTES);
        return true;
      }
      const pauseMs = toPauseSeconds(settings.retry_delay, attempt + 1) * 1_000;
      await setTimeout(pauseMs, undefined, { signal: closing.signal }).catch(() => undefined);
    }
  };

  /** Batches are of one conversation each, so that its numbers have no holes. */
  const sendOwed = async (conversationId: string, events: Events): Promise<boolean> => {
    for (let first = told.get(conversationId) ?? 0; first < events.length; first = told.get(conversationId) ?? 0) {
      const batch = events.slice(first, first + settings.event_buffer_size);
      const last = first + batch.length - 1;
      const body = JSON.stringify({
        conversation_id: conversationId,
        first_seq: first,
        last_seq: last,
        events: batch.map((event, index) => ({ seq: first + index, ...event })),
      });
      if (!(await deliver(`${conversationId}.${first}-${last}`, body))) return false;
      told.set(conversationId, last + 1);
    }
    return true;
  };

  const sendAll = async () => {
    clearTimeout(timer);
    timer = undefined;
    for (const [id, events] of logs) {
      if (!(await sendOwed(id, events))) return;
      const onTold = released.get(id);
      if (onTold === undefined) continue;
      logs.delete(id);
      released.delete(id);
      onTold();
      told.delete(id);
    }
  };
  const soon = () => {
    timer ??= globalThis.setTimeout(send, FLUSH_MS);
  };
  /** Once more after what is under way, however often it is asked for meanwhile. */
  function send() {
    if (isSet) return;
    isSet = true;
    sending = sending
      .then(() => {
        isSet = false;
        return sendAll();
      })
      // Expected: a full disk. What is owed is in the log, and is looked at again.
      .catch(soon);
  }

  return {
    begin: (id) => told.set(id, 0),
    resume: (id, events) => {
      if (told.get(id) === undefined) told.set(id, events.length);
      logs.set(id, events);
      soon();
    },
    wake: (id, events) => {
      const next = told.get(id);
      if (next === undefined) return;
      logs.set(id, events);
      if (events.length - next >= settings.event_buffer_size) send();
      else soon();
    },
    release: (id, onTold) => {
      logs.set(id, logs.get(id) ?? []);
      released.set(id, onTold);
      send();
    },
    close: async () => {
      closing.abort();
      send();
      await sending;
      clearTimeout(timer);
    },
  };
}
