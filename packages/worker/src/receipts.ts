/** Receipts owed to the server: noted on disk with the fact they are about, sent until the server has them. */
import { API_BASE, type Json } from "@drover/contract";
import { toDelayMs } from "./backoff.ts";
import { createBell } from "./bell.ts";
import type { Clock } from "./clock.ts";
import { createDrain, type Drain } from "./drain.ts";
import type { Fault } from "./fault.ts";
import type { Log } from "./log.ts";
import type { Notes } from "./outbox-log.ts";
import type { Outbox } from "./outbox.ts";
import type { Transport } from "./transport.ts";
import { type Ending, toVerdict } from "./verdict.ts";

const PREFIX = "receipt:";
const TIMEOUT_MS = 15_000;

export type ReceiptStatus = "delivered" | "seen" | "failed";

/** The note that makes a receipt owed. */
export const toReceiptNote = (
  messageId: string,
  status: ReceiptStatus,
  more: { turn?: number; detail?: string } = {},
): Notes => ({
  [`${PREFIX}${messageId}:${status}`]: { status, ...more } as Json,
});

export interface ReceiptParts {
  readonly outbox: Outbox;
  readonly transport: Transport;
  readonly sandboxId: string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly fault: Fault;
  readonly log: Log;
}

export interface Receipts {
  readonly done: Promise<Ending | undefined>;
  /** Receipts were noted. */
  wake(): void;
  readonly drained: Drain["drained"];
}

export function startReceipts(parts: ReceiptParts, signal: AbortSignal): Receipts {
  const { outbox, clock } = parts;
  const bell = createBell();
  const drain = createDrain(() => outbox.listNotes(PREFIX).length === 0);

  const sendFirst = async (key: string, body: Json) => {
    const messageId = key.slice(PREFIX.length, key.lastIndexOf(":"));
    const path = `${API_BASE}/sandboxes/${parts.sandboxId}/messages/${messageId}/ack`;
    return toVerdict(
      await parts.transport.send({ method: "POST", path, body: JSON.stringify(body), timeoutMs: TIMEOUT_MS }, signal),
    );
  };

  const run = async (): Promise<Ending | undefined> => {
    for (let failures = 0; !signal.aborted;) {
      const [first] = outbox.listNotes(PREFIX);
      if (first === undefined) {
        drain.check();
        await bell.wait(signal);
        continue;
      }
      const verdict = await sendFirst(first[0], first[1]);
      if (verdict.kind === "ended") return verdict.ending;
      if (verdict.kind === "retry") {
        if (!signal.aborted) await clock.sleep(toDelayMs((failures += 1), verdict.afterSeconds, parts.random), signal);
        continue;
      }
      failures = 0;
      // Refused: the server knows better how far this message came; saying it again would change nothing.
      if (verdict.kind === "refused") parts.log("receipt.refused", { receipt: first[0], detail: verdict.detail });
      else parts.fault("inbox.acked");
      await outbox.note({ [first[0]]: null }).catch(() => {}); // closed: it is sent again in the next life
    }
    return undefined;
  };

  return { done: run().finally(drain.end), wake: () => bell.ring(), drained: drain.drained };
}
