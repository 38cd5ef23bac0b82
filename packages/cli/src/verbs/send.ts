/** drover send: a message to a running agent. */
import type { Client } from "@drover/client";
import type { QueuedMessage } from "@drover/contract";
import { parseCount, takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { EXIT, UsageError } from "../exit-code.ts";
import { toSafeLine } from "../terminal.ts";
import type { Arguments, Context, Verb } from "../verb.ts";

const INTERRUPT_TEXT = "Stop what you are doing and wait for the next message.";
const WAIT_SECONDS = 120;
const ENDED: ReadonlySet<unknown> = new Set(["seen", "failed", "expired"]);

async function readContent(context: Context, args: Arguments): Promise<string> {
  const [, ...words] = takePositionals(send, args, 1, Number.POSITIVE_INFINITY);
  const text = words.join(" ");
  if (text === "-") return (await context.readInput()).trimEnd();
  if (text !== "") return text;
  if (args.has("interrupt")) return INTERRUPT_TEXT;
  throw new UsageError(`usage: drover ${send.name} ${send.usage}`, send.name);
}

async function waitForReceipt(
  client: Client,
  queued: QueuedMessage,
  afterSeq: number,
  timeoutMs: number,
  signal: AbortSignal,
) {
  const isEnd = (payload: Readonly<Record<string, unknown>>) =>
    payload["original_event_type"] === "MESSAGE_STATE_CHANGED" &&
    payload["message_id"] === queued.message_id &&
    ENDED.has(payload["state"]);
  const { payload } = await client.waitFor(queued.sandbox_id, (event) => isEnd(event.payload), {
    afterSeq,
    timeoutMs,
    signal,
  });
  const read = (name: string) => {
    const value = payload[name];
    return typeof value === "string" || typeof value === "number" ? value : undefined;
  };
  return { state: read("state"), turn: read("turn"), detail: read("detail") };
}

export const send: Verb = {
  name: "send",
  summary: "Send a message to a running agent.",
  usage: "<id> <text...> [flags]",
  isRemote: true,
  flags: [
    { name: "interrupt", doc: "Stop the turn that runs; the session stays." },
    { name: "queue", doc: "Deliver after the turn that runs, instead of into it." },
    { name: "wait", short: "w", doc: "Wait until the model has seen it." },
    { name: "timeout", value: "seconds", doc: `How long to wait (${WAIT_SECONDS}).` },
  ],
  details:
    "A text of `-` is read from standard input. With --wait the exit code is 1 when the message failed or was not seen in time.",
  async run(context, args) {
    if (args.has("interrupt") && args.has("queue"))
      throw new UsageError("--interrupt and --queue exclude each other", send.name);
    const timeoutSeconds = parseCount(send, args, "timeout") ?? WAIT_SECONDS;
    const [sandbox_id = ""] = args.positionals;
    const content = await readContent(context, args);
    const params = { sandbox_id };
    const { signal } = context;
    const client = connect(context, args);
    const before = args.has("wait") ? (await client.getSandbox({ params }, { signal })).last_seq : 0;
    const body = {
      content,
      message_type: args.has("interrupt") ? ("interrupt" as const) : ("user_message" as const),
      delivery: args.has("queue") ? ("queue" as const) : ("steer" as const),
    };
    const queued = await client.sendMessage({ params, body }, { signal });
    const receipt = args.has("wait")
      ? await waitForReceipt(client, queued, before, timeoutSeconds * 1_000, signal)
      : undefined;
    const state = receipt?.state ?? queued.status;
    if (args.has("json")) context.print(JSON.stringify({ ...queued, status: state, ...receipt }));
    else {
      const turn = receipt?.turn === undefined ? "" : ` in turn ${receipt.turn}`;
      const detail = receipt?.detail === undefined ? "" : `: ${toSafeLine(String(receipt.detail))}`;
      context.print(`${queued.message_id} ${state}${turn}${detail}`);
    }
    return state === "failed" || state === "expired" ? EXIT.failed : EXIT.ok;
  },
};
