/** Receives messages while the agent works. A message is on disk before the server is told that it arrived, so that no
 *  death between server and agent loses it, and none is given to the agent twice. */
import { API_BASE, api, InboxMessage, type Json } from "@drover/contract";
import { toDelayMs } from "./backoff.ts";
import type { Clock } from "./clock.ts";
import type { Fault } from "./fault.ts";
import type { Log } from "./log.ts";
import type { Notes } from "./outbox-log.ts";
import type { Outbox } from "./outbox.ts";
import { toReceiptNote } from "./receipts.ts";
import type { Transport } from "./transport.ts";
import { type Ending, toVerdict, type Verdict } from "./verdict.ts";

/** Only as long as it takes to write a message down: it bounds how late one comes that a death took along. */
const LEASE_SECONDS = 10;
const WAIT_SECONDS = 25;
const TIMEOUT_MARGIN_MS = 10_000;

/** Ways to ask, best first; a server that refuses one is asked the next. */
const QUERIES = [`?lease=${LEASE_SECONDS}&wait=${WAIT_SECONDS}`, `?lease=${LEASE_SECONDS}`, ""] as const;

const MESSAGE = "message:";
const INJECTED = "injected:";

/** What to note when the agent was given a message: it is no longer waiting, never given again, and a receipt is owed. */
export const toInjectedNotes = (
  messageId: string,
  status: "seen" | "failed",
  more: { turn: number; detail?: string },
): Notes => ({
  [`${MESSAGE}${messageId}`]: null,
  [`${INJECTED}${messageId}`]: { status, ...more } as Json,
  ...toReceiptNote(messageId, status, more),
});

export interface InboxParts {
  readonly outbox: Outbox;
  readonly transport: Transport;
  readonly sandboxId: string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly fault: Fault;
  readonly log: Log;
  readonly pollMs: number;
  /** Gives a message to the agent; a text says why the agent does not take it. */
  readonly deliver: (message: InboxMessage) => string | undefined;
  /** Receipts were noted. */
  readonly onOwed: () => void;
}

const isInterrupt = (message: InboxMessage) => message.message_type === "interrupt";
const sortInterruptsFirst = (messages: readonly InboxMessage[]) =>
  messages.toSorted((a, b) => Number(isInterrupt(b)) - Number(isInterrupt(a)));

export function startInbox(parts: InboxParts, signal: AbortSignal): { readonly done: Promise<Ending | undefined> } {
  const { outbox, clock, log } = parts;
  /** Given to the agent in this life, whatever became of it. */
  const given = new Set<string>();

  const give = async (message: InboxMessage) => {
    given.add(message.id);
    const refusal = parts.deliver(message);
    if (refusal !== undefined)
      await outbox.append([], toInjectedNotes(message.id, "failed", { turn: 0, detail: refusal }));
  };

  const accept = async (messages: readonly InboxMessage[]) => {
    const fresh = messages.filter(
      (message) => !given.has(message.id) && outbox.getNote(INJECTED + message.id) === undefined,
    );
    for (const message of messages) {
      // The server did not hear our receipt: it is owed again.
      const past = outbox.getNote(INJECTED + message.id) as
        | { status: "seen" | "failed"; turn?: number; detail?: string }
        | undefined;
      if (past !== undefined) await outbox.note(toReceiptNote(message.id, past.status, { ...past }));
      else if (given.has(message.id)) await outbox.note(toReceiptNote(message.id, "delivered"));
    }
    if (fresh.length > 0) {
      const notes = fresh.flatMap((message) =>
        Object.entries({ [MESSAGE + message.id]: message as Json, ...toReceiptNote(message.id, "delivered") }),
      );
      await outbox.note(Object.fromEntries(notes));
    }
    for (const message of fresh) await give(message);
    parts.onOwed();
  };

  const ask = async (query: string): Promise<Verdict> => {
    const path = `${API_BASE}/sandboxes/${parts.sandboxId}/messages${query}`;
    const timeoutMs = (query.includes("wait") ? WAIT_SECONDS * 1_000 : 0) + TIMEOUT_MARGIN_MS;
    return toVerdict(await parts.transport.send({ method: "GET", path, timeoutMs }, signal));
  };

  const receive = async (body: string) => {
    const parsed = api.receiveMessages.reply.safeParse(JSON.parse(body));
    if (!parsed.success) return log("inbox.unreadable", { detail: parsed.error.message.slice(0, 500) });
    if (parsed.data.length === 0) return;
    parts.fault("inbox.leased");
    await accept(sortInterruptsFirst(parsed.data));
  };

  const run = async (): Promise<Ending | undefined> => {
    // Accepted in an earlier life and never given: the server was told, so nobody else will bring them.
    const kept = outbox.listNotes(MESSAGE).flatMap(([, value]) => InboxMessage.safeParse(value).data ?? []);
    for (const message of sortInterruptsFirst(kept)) await give(message);
    parts.onOwed();
    let way = 0;
    for (let failures = 0; !signal.aborted;) {
      const verdict = await ask(QUERIES[way] ?? "");
      if (verdict.kind === "ended") return verdict.ending;
      if (verdict.kind === "ok") {
        failures = 0;
        await receive(verdict.body).catch((error: unknown) => log("inbox.failed", { detail: String(error) }));
        if (way > 0) await clock.sleep(parts.pollMs, signal);
        continue;
      }
      if (verdict.kind === "refused" && way < QUERIES.length - 1) {
        way += 1;
        log("inbox.fell_back", { detail: verdict.detail });
        continue;
      }
      if (!signal.aborted)
        await clock.sleep(
          toDelayMs((failures += 1), verdict.kind === "retry" ? verdict.afterSeconds : undefined, parts.random),
          signal,
        );
    }
    return undefined;
  };

  return { done: run() };
}
