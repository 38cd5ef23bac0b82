/** All that a page about one sandbox shows: its resource, its log, and the messages sent from here. */
import type { NewMessage, Sandbox } from "@drover/contract";
import { foldSandbox } from "@drover/contract/views";
import { newKey } from "./call.ts";
import { ClientError } from "./client-error.ts";
import type { Client } from "./create-client.ts";
import type { LogEvent } from "./log-event.ts";
import type { LogSnapshot, SandboxLog, SandboxLogOptions } from "./sandbox-log.ts";
import { foldReceipt, type SentMessage } from "./sent-message.ts";
import { Store } from "./store.ts";
import { systemTimers, type Timers } from "./timers.ts";

export interface SandboxSnapshot {
  readonly sandbox: Sandbox | undefined;
  /** Why the sandbox could not be read the last time. */
  readonly error: ClientError | undefined;
  readonly log: LogSnapshot;
  readonly messages: readonly SentMessage[];
}

export type MessageDraft = Pick<SentMessage, "content"> & Partial<Pick<NewMessage, "message_type" | "delivery">>;

interface WatchOptions extends SandboxLogOptions {
  readonly timers?: Timers;
  readonly lingerMs?: number;
}

const MESSAGES_KEPT = 200;
/** Events keep the sandbox true by themselves; what they do not tell is read again, and silence (a late heartbeat) after a while. */
const REFRESH_MS = { changed: 50, active: 5_000, idle: 15_000 } as const;
const STATE_EVENT =
  /^(SPAWNED|STATE_CHANGED|TERMINATED|TERMINATED_IDLE|WORKER_REPLACED|sandbox\..*|agent\.(started|completed|waiting|error))$/;

const EMPTY_LOG: LogSnapshot = {
  events: [],
  isComplete: false,
  isLoading: true,
  state: { phase: "connecting" },
  error: undefined,
  stats: { head: 0, holesHealed: 0, duplicatesDropped: 0, reconnects: 0 },
};

export class SandboxWatch {
  readonly sandboxId: string;
  private readonly client: Client;
  private readonly options: WatchOptions;
  private readonly timers: Timers;
  private readonly store: Store<SandboxSnapshot>;
  private log: SandboxLog | undefined;
  private foldedHead = 0;
  private refreshAt = Number.POSITIVE_INFINITY;
  private cancelRefresh: () => void = () => {};

  constructor(client: Client, sandboxId: string, options: WatchOptions = {}) {
    this.client = client;
    this.sandboxId = sandboxId;
    this.options = options;
    this.timers = options.timers ?? systemTimers;
    this.store = new Store<SandboxSnapshot>(
      { sandbox: undefined, error: undefined, log: EMPTY_LOG, messages: [] },
      { timers: this.timers, lingerMs: options.lingerMs ?? 2_000, start: () => this.start() },
    );
  }

  get subscribe() {
    return this.store.subscribe;
  }

  get getSnapshot() {
    return this.store.getSnapshot;
  }

  /** Shown as `sending` before this returns; resolves when the server has it or it was not sent. Never rejects. */
  readonly sendMessage = (draft: string | MessageDraft): Promise<SentMessage> => {
    const given = typeof draft === "string" ? { content: draft } : draft;
    const message: SentMessage = {
      key: newKey(),
      content: given.content,
      message_type: given.message_type ?? "user_message",
      delivery: given.delivery ?? "steer",
      state: "sending",
      message_id: undefined,
      isInLog: false,
      detail: undefined,
      sent_at: this.timers.now(),
    };
    this.change({ messages: [...this.store.getSnapshot().messages, message].slice(-MESSAGES_KEPT) });
    return this.deliver(message);
  };

  /** The same message under the same key: if the first attempt did arrive, there is still only one. */
  readonly retryMessage = async (key: string): Promise<void> => {
    const message = this.findMessage(key);
    if (message?.state !== "not-sent") return;
    await this.deliver(this.replace({ ...message, state: "sending", detail: undefined }));
  };

  readonly discardMessage = (key: string): void =>
    this.change({ messages: this.store.getSnapshot().messages.filter((message) => message.key !== key) });

  readonly loadOlder = async (): Promise<boolean> => (await this.log?.loadOlder()) ?? false;

  /** Try again now: a person asked, or logged in. */
  readonly wake = (): void => {
    this.log?.wake();
    this.scheduleRefresh(0);
  };

  private findMessage(key: string): SentMessage | undefined {
    return this.store.getSnapshot().messages.find((message) => message.key === key);
  }

  private change(part: Partial<SandboxSnapshot>): void {
    this.store.set({ ...this.store.getSnapshot(), ...part });
  }

  private replace(message: SentMessage): SentMessage {
    this.change({
      messages: this.store.getSnapshot().messages.map((one) => (one.key === message.key ? message : one)),
    });
    return message;
  }

  private async deliver(message: SentMessage): Promise<SentMessage> {
    const { key, content, message_type, delivery } = message;
    const params = { sandbox_id: this.sandboxId };
    try {
      const reply = await this.client.sendMessage(
        { params, body: { content, message_type, delivery } },
        { idempotencyKey: key },
      );
      const queued: SentMessage = { ...message, state: "queued", message_id: reply.message_id };
      // Its events may have come before this reply.
      return this.replace(this.store.getSnapshot().log.events.reduce(foldReceipt, queued));
    } catch (error) {
      // Expected: refused or unreachable. The text is kept and can be sent again.
      return this.replace({
        ...message,
        state: "not-sent",
        detail: error instanceof Error ? error.message : String(error),
      });
    }
  }

  private start(): () => void {
    const log = this.client.openSandboxLog(this.sandboxId, this.options);
    this.log = log;
    this.foldedHead = 0;
    const unsubscribe = log.subscribe(() => this.takeLog(log.getSnapshot()));
    this.scheduleRefresh(0);
    return () => {
      unsubscribe();
      log.close();
      this.cancelRefresh();
      this.refreshAt = Number.POSITIVE_INFINITY;
      this.log = undefined;
    };
  }

  private takeLog(log: LogSnapshot): void {
    const before = this.store.getSnapshot();
    const fresh = log.events.slice(log.events.findLastIndex((event) => event.sandbox_seq <= this.foldedHead) + 1);
    const hasCaughtUp = log.state.phase === "live" && before.log.state.phase !== "live";
    this.foldedHead = log.stats.head;
    const messages =
      fresh.length === 0 ? before.messages : before.messages.map((message) => fresh.reduce(foldReceipt, message));
    const sandbox = before.sandbox === undefined ? undefined : toCurrent(before.sandbox, log.events);
    this.change({ log, messages, sandbox });
    if (fresh.some(isStateEvent) || hasCaughtUp) this.scheduleRefresh(REFRESH_MS.changed);
    else if (fresh.length > 0) this.scheduleRefresh(REFRESH_MS.active);
  }

  /** The earliest wish wins. */
  private scheduleRefresh(ms: number): void {
    const at = this.timers.now() + ms;
    if (at >= this.refreshAt) return;
    this.cancelRefresh();
    this.refreshAt = at;
    this.cancelRefresh = this.timers.after(ms, () => void this.refresh());
  }

  private async refresh(): Promise<void> {
    const { log } = this;
    this.refreshAt = Number.POSITIVE_INFINITY;
    try {
      const sandbox = await this.client.getSandbox({ params: { sandbox_id: this.sandboxId } });
      this.change({ sandbox: toCurrent(sandbox, this.store.getSnapshot().log.events), error: undefined });
    } catch (error) {
      // Expected: refused or unreachable; what was known stays on the page.
      if (!(error instanceof ClientError)) throw error;
      this.change({ error });
    }
    if (this.log === log && log !== undefined) this.scheduleRefresh(REFRESH_MS.idle);
  }
}

/** The sandbox as of the newest event: a reading may be older than what the log already has. */
const toCurrent = (sandbox: Sandbox, events: readonly LogEvent[]): Sandbox =>
  events.slice(events.findLastIndex((event) => event.seq <= sandbox.last_seq) + 1).reduce(foldSandbox, sandbox);

const isStateEvent = (event: LogEvent): boolean => STATE_EVENT.test(event.event_type);
