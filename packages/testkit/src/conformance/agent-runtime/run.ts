/** An agent at work in a scenario: what it said, and ways to speak to it. */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { InboxMessage, MessageId } from "@drover/contract";
import type {
  AgentEnd,
  AgentSession,
  AgentStep,
  Boundary,
  Receipt,
  WorkOrder,
} from "../../../../worker/src/agent-runtime.ts";
import type { ModelRequest } from "../../model/read-request.ts";
import type { ScriptedModel } from "../../model/scripted-model.ts";
import { makePlainOrder } from "./plain-order.ts";
import type { Plan, Prepared, RuntimeSubject } from "./plan.ts";

const FACT_LIMIT_MS = 120_000;
const LOOK_EVERY_MS = 10;
const PATH = `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`;
/** Stands for what must not be seen inside. */
export const CANARY = "canary-of-the-worker";

/** A command that ends once the scenario says so. */
export const waitFor = (name: string) => `until [ -e ${name} ]; do sleep 0.05; done; echo ${name} came`;

function requireTaken(refusal: string | undefined): void {
  if (refusal !== undefined) throw new Error(`the agent does not take it: ${refusal}`);
}

export class Run {
  readonly steps: AgentStep[] = [];
  readonly boundaries: Boundary[] = [];
  readonly cwd: string;
  readonly model: ScriptedModel | undefined;
  readonly #subject: RuntimeSubject;
  readonly #order: WorkOrder;
  readonly #prepared: Prepared;
  #session!: AgentSession;
  #stop = new AbortController();
  #done!: Promise<AgentEnd>;
  #messages = 0;

  private constructor(subject: RuntimeSubject, prepared: Prepared, order: WorkOrder) {
    this.#subject = subject;
    this.#prepared = prepared;
    this.#order = { ...order, atBoundary: async (at) => (this.boundaries.push(at), []) };
    this.cwd = order.cwd;
    this.model = prepared.model;
  }

  static async start(subject: RuntimeSubject, plan: Plan): Promise<Run> {
    const folder = await mkdtemp(join(tmpdir(), `drover-${subject.name}-`));
    const [cwd, home] = [join(folder, "work"), join(folder, "state", "home")];
    await mkdir(cwd, { recursive: true });
    await mkdir(home, { recursive: true });
    const prepared = await subject.prepare(plan, cwd);
    const order: WorkOrder = {
      ...makePlainOrder(cwd),
      prompt: "Do as planned.",
      env: { PATH, HOME: folder },
      home,
      ...prepared.order,
      ...plan.order,
    };
    const run = new Run(subject, prepared, order);
    run.#begin(order);
    return run;
  }

  #begin(order: WorkOrder): void {
    this.#stop = new AbortController();
    this.#session = this.#subject.runtime.start({ ...this.#order, mark: order.mark }, this.#stop.signal);
    const { steps } = this.#session;
    this.#done = (async () => {
      for (;;) {
        const next = await steps.next();
        if (next.done === true) return next.value;
        this.steps.push(next.value);
      }
    })();
  }

  get events() {
    return this.steps.flatMap((step) => step.events);
  }

  get types() {
    return this.events.map(({ event_type }) => event_type);
  }

  of(type: string) {
    return this.events.filter(({ event_type }) => event_type === type).map(({ event_data }) => event_data);
  }

  get receipts(): readonly Receipt[] {
    return this.steps.flatMap(({ receipt }) => receipt ?? []);
  }

  get sessionId() {
    return this.#session.getSessionId?.();
  }

  /** Looks until it is true; the deadline names what did not come true. */
  async until(what: string, isTrue: () => boolean): Promise<void> {
    const deadline = performance.now() + FACT_LIMIT_MS;
    while (!isTrue()) {
      if (performance.now() > deadline) throw new Error(`not in time: ${what}`);
      await new Promise((tell) => setTimeout(tell, LOOK_EVERY_MS));
    }
  }

  /** Resolves when the agent has what it was sent: what ends a tool before that would race with it. */
  async untilTaken(content: string): Promise<void> {
    const { isTaken } = this.#subject;
    let isThere = isTaken === undefined;
    for (const deadline = performance.now() + FACT_LIMIT_MS; !isThere;) {
      if (performance.now() > deadline) throw new Error(`not in time: the agent has ${content}`);
      await new Promise((tell) => setTimeout(tell, LOOK_EVERY_MS));
      isThere = (await isTaken?.(this.#order.home, content)) === true;
    }
  }

  untilCount(type: string, count = 1): Promise<void> {
    return this.until(`${count} of ${type}`, () => this.of(type).length >= count);
  }

  /** Resolves when the tool's command runs: it has left this file. */
  untilFile(name: string): Promise<void> {
    return this.until(`the file ${name}`, () => this.has(name));
  }

  has(name: string): boolean {
    return existsSync(join(this.cwd, name));
  }

  read(name: string): Promise<string> {
    return readFile(join(this.cwd, name), "utf8");
  }

  make(name: string): Promise<void> {
    return writeFile(join(this.cwd, name), "");
  }

  #toMessage(content: string, more: Partial<InboxMessage>): InboxMessage {
    const id = `msg-${(this.#messages += 1).toString(16).padStart(12, "0")}` as MessageId;
    return {
      id,
      content,
      message_type: "user_message",
      timestamp: new Date().toISOString(),
      delivery: "steer",
      ...more,
    };
  }

  send(content: string, delivery: "steer" | "queue" = "steer"): string {
    const message = this.#toMessage(content, { delivery });
    requireTaken(this.#session.send(message));
    return message.id;
  }

  interrupt(content = "stop"): string {
    const message = this.#toMessage(content, { message_type: "interrupt" });
    requireTaken(this.#session.interrupt(message));
    return message.id;
  }

  answer(decision: "allow" | "deny"): void {
    const requestId = String(this.of("agent.permission_requested").at(-1)?.["request_id"]);
    requireTaken(this.#session.answerPermission({ messageId: "msg-00000000ffff", requestId, decision }));
  }

  /** As the worker does when it ends. */
  async close(): Promise<AgentEnd> {
    this.#stop.abort();
    return this.#done;
  }

  get done(): Promise<AgentEnd> {
    return this.#done;
  }

  /** As a worker does that was started again: all that it has is the last mark. */
  async restart(): Promise<void> {
    await this.close();
    const mark = this.steps.findLast((step) => step.mark !== undefined)?.mark;
    this.#begin({ ...this.#order, mark });
  }

  /** What the model was asked for the work itself: agents ask for titles and the like besides, without tools. */
  get requests(): readonly ModelRequest[] {
    return (this.model?.requests ?? []).filter(({ toolNames }) => toolNames.length > 0);
  }

  /** Whether the text stands in the n-th request to the model, from 1. */
  isInRequest(n: number, text: string): boolean {
    return JSON.stringify(this.requests[n - 1]?.body ?? "").includes(text);
  }

  async dispose(): Promise<void> {
    await this.close();
    await this.#prepared.close();
    await rm(dirname(this.cwd), { recursive: true, force: true, maxRetries: 5 });
  }
}
