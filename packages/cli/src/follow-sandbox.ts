/** Prints a sandbox's events as they happen, until its work is over. */
import { toLogEvent, type Client, type LogEvent } from "@drover/client";
import { SandboxState, type Sandbox } from "@drover/contract";
import { formatEvent } from "./event-line.ts";
import { EXIT } from "./exit-code.ts";
import type { Context } from "./verb.ts";

const ENDED: ReadonlySet<SandboxState> = new Set(["completed", "cancelled", "failed", "terminated"]);
const QUIET: ReadonlySet<string> = new Set([
  "agent.heartbeat",
  "heartbeat",
  "spec.heartbeat",
  "agent.transcript_saved",
]);

const readState = (event: LogEvent): SandboxState | undefined =>
  event.event_type === "STATE_CHANGED" ? SandboxState.safeParse(event.event_data["to"]).data : undefined;

/** The exit code says how the work ended: completed is 0, every other end 1, and Ctrl-C leaves the sandbox as it is. */
export async function followSandbox(
  context: Context,
  client: Client,
  sandbox: Pick<Sandbox, "id">,
  isJson: boolean,
): Promise<number> {
  const filter = { entity_types: ["sandbox"], entity_ids: [sandbox.id] };
  for await (const frame of client.events({ filter, afterSeq: 0, signal: context.signal })) {
    const event = toLogEvent(frame);
    if (event === undefined) continue;
    if (isJson) context.print(JSON.stringify(event));
    else if (!QUIET.has(event.event_type)) context.print(formatEvent(event, context.width, context.paint));
    const state = readState(event);
    if (state !== undefined && ENDED.has(state)) return state === "completed" ? EXIT.ok : EXIT.failed;
  }
  context.warn(`\n${sandbox.id} goes on. See: drover events -f ${sandbox.id}; end it with: drover rm ${sandbox.id}`);
  return EXIT.interrupted;
}
