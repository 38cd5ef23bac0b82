/** Brings what the outbox holds to the server: in order, one request in flight, until the server says it has it. */
import { API_BASE, EVENT_BATCH_LIMIT, type NewEvent } from "@drover/contract";
import type { ArtifactSpool } from "./artifacts.ts";
import { toDelayMs } from "./backoff.ts";
import type { Clock } from "./clock.ts";
import { createDrain, type Drain } from "./drain.ts";
import type { Fault } from "./fault.ts";
import type { Log } from "./log.ts";
import type { Outbox } from "./outbox.ts";
import type { Entry } from "./outbox-log.ts";
import type { Transport } from "./transport.ts";
import { type Ending, toVerdict, type Verdict } from "./verdict.ts";

/** Well below the server's 8 MiB, so that a slow line still finishes a request in time. */
const BATCH_BYTES = 1024 * 1024;
const TIMEOUT_MS = 30_000;

export interface LinkParts {
  readonly outbox: Outbox;
  readonly artifacts: ArtifactSpool;
  readonly transport: Transport;
  readonly sandboxId: string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly fault: Fault;
  readonly log: Log;
}

export interface Link {
  /** The server's last word, or `undefined` when the signal ended the link. */
  readonly done: Promise<Ending | undefined>;
  /** Whether everything recorded so far is at the server. */
  readonly drained: Drain["drained"];
}

/** Takes the place of an event the server will never take: what it was and why it is missing. */
const toRejected = (entry: Entry, detail: string): NewEvent => ({
  event_type: "worker.event_rejected",
  source: "worker",
  event_data: {
    event_type: (JSON.parse(entry.json) as NewEvent).event_type,
    reason: detail.slice(0, 2_000),
    size: entry.bytes,
  },
});

export function startLink(parts: LinkParts, signal: AbortSignal): Link {
  const { outbox, artifacts, clock, log } = parts;
  const base = `${API_BASE}/sandboxes/${parts.sandboxId}`;
  const rejected = new Set<number>();
  const drain = createDrain(() => outbox.pending === 0 && artifacts.list().length === 0);
  let batchLimit = EVENT_BATCH_LIMIT;
  let failures = 0;

  const post = async (path: string, method: "POST" | "PUT", body: string | Buffer): Promise<Verdict> =>
    toVerdict(
      await parts.transport.send(
        { method, path: base + path, body, timeoutMs: TIMEOUT_MS, onSent: () => parts.fault("link.sent") },
        signal,
      ),
    );

  const wait = async (verdict: Extract<Verdict, { kind: "retry" | "refused" }>) => {
    if (signal.aborted) return;
    failures += 1;
    if (failures === 1) log("link.waiting", { detail: verdict.detail });
    await clock.sleep(
      toDelayMs(failures, verdict.kind === "retry" ? verdict.afterSeconds : undefined, parts.random),
      signal,
    );
  };
  const succeed = () => {
    if (failures > 0) log("link.restored", { failures });
    failures = 0;
  };

  /** Before the events, so that nobody is shown a reference to something that is not there. */
  const sendArtifact = async (id: string): Promise<Ending | undefined> => {
    const verdict = await post(`/artifacts/${id}`, "PUT", await artifacts.load(id));
    if (verdict.kind === "ended") return verdict.ending;
    if (verdict.kind === "retry") return void (await wait(verdict));
    if (verdict.kind === "refused") {
      log("artifact.refused", { id, detail: verdict.detail });
      const event_data = { artifact_id: id, reason: verdict.detail.slice(0, 2_000) };
      // Not awaited: a full outbox is emptied by this very loop.
      outbox.append([{ event_type: "worker.artifact_rejected", source: "worker", event_data }]).catch(() => {});
    } else succeed();
    await artifacts.forget(id);
    return undefined;
  };

  /** Halves the batch until the event that cannot pass stands alone, then puts a note in its place. */
  const isolate = async (batch: readonly Entry[], verdict: Extract<Verdict, { kind: "refused" }>) => {
    const [first] = batch;
    if (first === undefined) return;
    if (batch.length > 1) {
      batchLimit = Math.ceil(batch.length / 2);
    } else if (rejected.has(first.n)) {
      // Even the note was refused: the fault is not in the event. It waits, like for any server that cannot answer.
      await wait(verdict);
    } else {
      rejected.add(first.n);
      outbox.amend(first.n, toRejected(first, verdict.detail));
      log("event.refused", { n: first.n, detail: verdict.detail });
    }
  };

  const sendBatch = async (batch: readonly Entry[]): Promise<Ending | undefined> => {
    const last = batch.at(-1)?.n ?? 0;
    outbox.lend(last);
    const verdict = await post("/events", "POST", `{"events":[${batch.map((entry) => entry.json).join(",")}]}`);
    outbox.lend(0);
    if (verdict.kind === "ended") return verdict.ending;
    if (verdict.kind === "retry") return void (await wait(verdict));
    if (verdict.kind === "refused") return void (await isolate(batch, verdict));
    succeed();
    batchLimit = Math.min(batchLimit * 2, EVENT_BATCH_LIMIT);
    for (const n of rejected) if (n <= last) rejected.delete(n);
    outbox.ack(last);
    parts.fault("link.acked");
    return undefined;
  };

  const run = async (): Promise<Ending | undefined> => {
    while (!signal.aborted) {
      const [artifact] = artifacts.list();
      const batch = outbox.peek(batchLimit, BATCH_BYTES);
      if (artifact === undefined && batch.length === 0) {
        drain.check();
        await outbox.changed(signal);
        continue;
      }
      const ending = artifact === undefined ? await sendBatch(batch) : await sendArtifact(artifact);
      if (ending !== undefined) return ending;
    }
    return undefined;
  };

  return { done: run().finally(drain.end), drained: drain.drained };
}
