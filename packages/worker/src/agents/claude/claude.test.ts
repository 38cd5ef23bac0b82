/** What Claude's adapter does at the edge of tools, with an SDK that calls its hooks as the real one does.
 *  Broken on purpose, each seen here: a hook that waits for the look; a next tool that does not; a result that overtakes the changes. */
import { expect, test } from "vitest";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { MessageId } from "@drover/contract";
import { makePlainOrder } from "../../../../testkit/src/conformance/agent-runtime/plain-order.ts";
import type { AgentEvent, WorkOrder } from "../../agent-runtime.ts";
import { createClaude } from "./claude.ts";
import { toSdkOptions } from "./options.ts";
import type { SdkInput, SdkOptions } from "./sdk.ts";

const HOOK = { tool_name: "Bash", tool_use_id: "t1", tool_input: {}, tool_response: {}, duration_ms: 1 };

const use = (id: string) => ({
  type: "assistant",
  message: { id: `m-${id}`, content: [{ type: "tool_use", id, name: "Bash", input: {} }] },
});
const result = (id: string) => ({
  type: "user",
  message: { content: [{ type: "tool_result", tool_use_id: id, content: "done" }] },
});

const toOrder = (folder: string, atBoundary: WorkOrder["atBoundary"]): WorkOrder => ({
  ...makePlainOrder(folder),
  agentHome: folder,
  skills: false,
  atBoundary,
});

test("the agent asks its model while the workspace is looked at; its next tool waits, and the changes stand before the result", async () => {
  const folder = await mkdtemp(join(tmpdir(), "drover-claude-"));
  const looking = Promise.withResolvers<readonly AgentEvent[]>();
  const isAnswered = Promise.withResolvers<void>();
  let isNextBegun = false;

  /** One tool ends, the next is asked about, as the SDK's stream and hooks do it. */
  async function* play({ hooks }: SdkOptions) {
    const call = (name: string, input: object) => hooks[name]?.[0]?.hooks[0]?.(input);
    yield use("t1");
    await call("PreToolUse", HOOK);
    // Returns though nobody has looked yet.
    await call("PostToolUse", HOOK);
    yield result("t1");
    yield use("t2");
    const next = call("PreToolUse", { ...HOOK, tool_use_id: "t2" })?.then(() => (isNextBegun = true));
    isAnswered.resolve();
    await next;
    yield result("t2");
    await new Promise(() => undefined);
  }
  const load = async () => ({
    query: ({ options }: { options: SdkOptions }) => Object.assign(play(options), { interrupt: async () => undefined }),
  });

  const ending = new AbortController();
  const order = toOrder(folder, ({ toolUseId }) => (toolUseId === "t1" ? looking.promise : Promise.resolve([])));
  const { steps } = createClaude(load as never).start(order, ending.signal);
  const told: string[] = [];
  const reading = (async () => {
    for (;;) {
      const next = await steps.next();
      if (next.done === true) return;
      for (const { event_type, event_data } of next.value.events)
        told.push(`${event_type} ${JSON.stringify(event_data["tool_use_id"] ?? "").slice(1, -1)}`.trim());
      if (told.at(-1) === "agent.user_tool_result t2") return;
    }
  })();
  await isAnswered.promise;
  // Whatever could run has run: the next tool still waits for the look.
  await new Promise((turn) => setImmediate(turn));
  expect(isNextBegun).toBe(false);
  looking.resolve([{ event_type: "agent.file_edited", event_data: { file_path: "a", tool_use_id: "t1" } }]);
  await reading;
  expect(isNextBegun).toBe(true);
  expect(told.filter((one) => /tool_|file_/.test(one))).toEqual([
    "agent.tool_use t1",
    "agent.file_edited t1",
    "agent.tool_completed t1",
    "agent.tool_result t1",
    "agent.user_tool_result t1",
    "agent.tool_use t2",
    "agent.tool_result t2",
    "agent.user_tool_result t2",
  ]);
  ending.abort();
  await rm(folder, { recursive: true, force: true });
});

test("what is appended stands behind the agent's own instructions, or behind those that replace them", async () => {
  const folder = await mkdtemp(join(tmpdir(), "drover-claude-"));
  const order = { ...makePlainOrder(folder), systemPromptAppend: "be brief" };
  const preset = { type: "preset", preset: "claude_code", append: "be brief" };
  expect((await toSdkOptions(order)).systemPrompt).toEqual(preset);
  expect((await toSdkOptions({ ...order, systemPrompt: "You count sheep." })).systemPrompt).toBe(
    "You count sheep.\n\nbe brief",
  );
  await rm(folder, { recursive: true, force: true });
});

test("questions and sources of settings are as the worker's environment says, else as the policy and the repository", async () => {
  const folder = await mkdtemp(join(tmpdir(), "drover-claude-"));
  const order = makePlainOrder(folder);
  const sourcesOf = async (change: object) => (await toSdkOptions({ ...order, ...change })).settingSources;
  const isAskable = async (change: object) =>
    !(await toSdkOptions({ ...order, ...change })).disallowedTools.includes("AskUserQuestion");
  expect(await sourcesOf({})).toEqual(["project"]);
  expect(await sourcesOf({ settingSources: ["user", "local"] })).toEqual(["user", "local"]);
  const withoutSubagents = await toSdkOptions({ ...order, subagents: null });
  expect(withoutSubagents).toMatchObject({ agents: {}, disallowedTools: expect.arrayContaining(["Agent", "Task"]) });
  // Without skills the repository's instructions are still read.
  expect(await toSdkOptions({ ...order, skills: false })).toMatchObject({ settingSources: ["project"], skills: [] });
  const asking = { permissionPolicy: { ...order.permissionPolicy, decision: "ask" } };
  const allowing = { permissionPolicy: { ...order.permissionPolicy, decision: "allow" } };
  expect([await isAskable(asking), await isAskable({ ...asking, questions: false })]).toEqual([true, false]);
  expect([await isAskable(allowing), await isAskable({ ...allowing, questions: true })]).toEqual([false, true]);
  await rm(folder, { recursive: true, force: true });
});

test("a message that was taken along by an interrupt is given to the agent again, and gets one receipt", async () => {
  const folder = await mkdtemp(join(tmpdir(), "drover-claude-"));
  const tell = ({ uuid }: SdkInput, state: string) => ({ type: "command_lifecycle", command_uuid: uuid, state });
  async function* play(prompt: AsyncIterable<SdkInput>) {
    const given = prompt[Symbol.asyncIterator]();
    const next = async () => (await given.next()).value as SdkInput;
    // Before what was said about it.
    expect((await next()).message.content).toBe("Do as planned.");
    yield tell(await next(), "cancelled");
    yield tell(await next(), "started");
    await new Promise(() => undefined);
  }
  const load = async () => ({
    query: ({ prompt }: { prompt: AsyncIterable<SdkInput> }) =>
      Object.assign(play(prompt), { interrupt: async () => undefined }),
  });
  const ending = new AbortController();
  const session = createClaude(load as never).start(
    { ...toOrder(folder, async () => []), prompt: "Do as planned." },
    ending.signal,
  );
  const id = "msg-0000000000aa" as MessageId;
  session.send({
    id,
    content: "hear me",
    message_type: "user_message",
    timestamp: "2026-01-01T00:00:00Z",
    delivery: "steer",
  });
  for (;;) {
    const { value } = await session.steps.next();
    if (!("events" in value) || value.receipt === undefined) continue;
    expect(value.receipt).toMatchObject({ messageId: id, status: "seen" });
    expect(value.events).toMatchObject([{ event_type: "agent.message_injected", event_data: { content: "hear me" } }]);
    break;
  }
  ending.abort();
  await rm(folder, { recursive: true, force: true });
});
