/** The published MCP client drives whole runs: a sandbox from its prompt to its diff, and a ticket from its first task to the merge. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { expect } from "vitest";
import { test, type TestServer, ADMIN_TOKEN } from "../../../testkit/src/server.ts";

const FACT = { timeout: 100_000, interval: 100 };
const PUSH =
  "git add -A && git -c user.name=agent -c user.email=agent@example.org commit -q -m work && git push -q origin HEAD";
const SMALL = { memory_gb: 0.5 };

async function connect(server: TestServer, token: string, path = "/mcp") {
  const client = new Client({ name: "test", version: "1" });
  const headers = { authorization: `Bearer ${token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(path, server.url), { requestInit: { headers } }));
  const ask = async (name: string, given: Record<string, unknown> = {}) => {
    const { content, isError = false } = await client.callTool({ name, arguments: given });
    const [first] = content as readonly { readonly text: string }[];
    return { text: first?.text ?? "", isError };
  };
  return {
    ask,
    /** What the tool found; a refusal fails the test with its words. */
    use: async (name: string, given: Record<string, unknown> = {}) => {
      const { text, isError } = await ask(name, given);
      expect(isError, `${name}: ${text}`).toBe(false);
      return JSON.parse(text);
    },
    list: async () => (await client.listTools()).tools,
    [Symbol.asyncDispose]: () => client.close(),
  };
}

test("a program spawns an agent, follows it, steers it and reads what it changed", async ({ server }) => {
  const { token } = await server.createToken("operator");
  await using mcp = await connect(server, token);
  const script = {
    steps: [{ wait_for_message: { seconds: 600 } }, { edit: { path: "made.txt", content: "made\n" } }],
  };
  const asked = { prompt: "make it", provider: "local", runtime: "scripted", script, resources: SMALL };
  const first = await mcp.use("spawn_sandbox", { ...asked, idempotency_key: "once" });
  const again = await mcp.use("spawn_sandbox", { ...asked, idempotency_key: "once" });
  expect(again.id).toBe(first.id);
  const sandbox_id: string = first.id;
  expect((await mcp.use("list_sandboxes")).items.map(({ id }: { id: string }) => id)).toContain(sandbox_id);

  const read = async () => {
    const { events } = await mcp.use("read_events", { sandbox_id, after_seq: 0, limit: 500 });
    return events.map(({ event_type }: { event_type: string }) => event_type);
  };
  await expect.poll(read, FACT).toContain("agent.waiting");
  await mcp.use("send_message", { sandbox_id, content: "go on" });
  const rest = async () => (await mcp.use("wait_for_sandbox", { sandbox_id, timeout_s: 5 })).sandbox.state;
  await expect.poll(rest, FACT).toBe("completed");
  expect(await read()).toContain("agent.completed");

  const { edits } = await mcp.use("read_diff", { sandbox_id });
  expect(edits).toMatchObject([{ file_path: "made.txt", change_type: "created" }]);
  expect(edits[0].diff).toContain("+made");
  expect((await mcp.use("read_diff", { sandbox_id, event_id: edits[0].event_id })).diff).toBe(edits[0].diff);
  await mcp.use("stop_sandbox", { sandbox_id });
  expect((await mcp.use("get_sandbox", { sandbox_id })).state).toBe("cancelled");
});

test("a program makes a ticket and a task, reads the pull request and merges it", async ({ server }) => {
  const project = await server.call("POST", "/projects", {
    body: {
      name: `asked by a program ${crypto.randomUUID()}`,
      autonomous_execution_enabled: true,
      settings: { provider: "local", auto_merge: false },
    },
  });
  expect((await server.call("PATCH", `/projects/${project.body.id}/git`, { body: { host: "builtin" } })).status).toBe(
    200,
  );
  const { token } = await server.createToken("operator", project.body.id);
  await using mcp = await connect(server, token, "/api/v1/mcp");
  const [seen] = (await mcp.use("list_projects")).items;
  const ticket = await mcp.use("create_ticket", { title: "Count the sheep", project_id: seen.id });
  const steps = [{ edit: { path: "sheep.txt", content: "11\n" } }, { command: { argv: ["sh", "-c", PUSH] } }];
  const execution_config = { runtime: "scripted", resources: SMALL, script: { steps } };
  await mcp.use("create_task", { ticket_id: ticket.id, title: "count", execution_config });

  const pulls = async () => (await mcp.use("list_pulls", { ticket_id: ticket.id })).items;
  await expect.poll(pulls, FACT).toMatchObject([{ state: "open" }]);
  const [pull] = await pulls();
  expect((await mcp.use("read_diff", { pull_id: pull.id })).diff).toContain("+11");
  expect(await mcp.use("merge_pull", { pull_id: pull.id })).toMatchObject({ state: "merged" });
  const state = async () => (await mcp.use("get_ticket", { ticket_id: ticket.id })).ticket.status;
  await expect.poll(state, FACT).toBe("done");
  expect((await mcp.use("list_tasks", { ticket_id: ticket.id })).items).toMatchObject([{ status: "completed" }]);
});

test("tools do what the caller's role and project allow, and no more", async ({ server, sandbox }) => {
  const [viewer, foreign] = [
    await server.createToken("viewer"),
    await server.createToken("operator", await server.createProject()),
  ];
  await using reading = await connect(server, viewer.token);
  const offered = (await reading.list()).map(({ name }) => name);
  expect(offered).toContain("read_events");
  expect(offered).not.toContain("spawn_sandbox");
  expect((await reading.use("get_sandbox", { sandbox_id: sandbox.id })).id).toBe(sandbox.id);
  for (const [name, given] of [
    ["spawn_sandbox", { prompt: "no" }],
    ["send_message", { sandbox_id: sandbox.id, content: "no" }],
    ["stop_sandbox", { sandbox_id: sandbox.id }],
  ] as const) {
    const { text, isError } = await reading.ask(name, given);
    expect({ name, isError }).toEqual({ name, isError: true });
    expect(text).toContain("the role viewer may not operate here");
  }
  await using elsewhere = await connect(server, foreign.token);
  expect(await elsewhere.ask("get_sandbox", { sandbox_id: sandbox.id })).toMatchObject({ isError: true });
  expect((await elsewhere.use("list_sandboxes")).items).toEqual([]);
  expect(await elsewhere.ask("read_events", { sandbox_id: "nothing", limit: 5_000 })).toMatchObject({ isError: true });
});

test("without a person's credential there is no tool, and a sandbox's token is none", async ({ server, sandbox }) => {
  const body = { jsonrpc: "2.0", id: 1, method: "tools/list" };
  const headers = { accept: "application/json, text/event-stream" };
  const ask = (method: string, token: string | undefined, more = {}) =>
    server.request(method, "/mcp", { token, headers: { ...headers, ...more }, ...(method === "POST" ? { body } : {}) });
  expect((await ask("POST", undefined)).status).toBe(401);
  expect((await ask("POST", "drv_u_wrong")).status).toBe(401);
  expect((await ask("POST", sandbox.token)).status).toBe(403);
  expect((await ask("POST", ADMIN_TOKEN, { origin: "https://elsewhere.example" })).status).toBe(403);
  expect((await ask("GET", ADMIN_TOKEN)).status).toBe(405);
  expect((await ask("POST", ADMIN_TOKEN)).status).toBe(200);
});

const call = (params: unknown) => JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });

test.for([
  ["nothing", ""],
  ["half of JSON", '{"jsonrpc"'],
  ["no object", "null"],
  ["another protocol", '{"jsonrpc":"1.0","id":1,"method":"tools/list"}'],
  ["an id that is none", '{"jsonrpc":"2.0","id":{},"method":"tools/list"}'],
  ["a method that nobody knows", '{"jsonrpc":"2.0","id":1,"method":"resources/list"}'],
  ["no tool", call({})],
  ["what every object has", call({ name: "__proto__" })],
  ["what every class has", call({ name: "constructor", arguments: {} })],
  ["arguments that are a list", call({ name: "list_sandboxes", arguments: [] })],
  ["an id that leads elsewhere", call({ name: "get_sandbox", arguments: { sandbox_id: "../../tokens" } })],
  ["a NUL", call({ name: "list_sandboxes", arguments: { q: "\u0000" } })],
  ["a key of another tool", call({ name: "get_sandbox", arguments: { sandbox_id: "x", prompt: "y" } })],
  ["a provider that starts nothing", call({ name: "spawn_sandbox", arguments: { provider: "external" } })],
  [
    "a depth that nothing has",
    call({ name: "spawn_sandbox", arguments: { script: JSON.parse("[".repeat(90) + "]".repeat(90)) } }),
  ],
] as const)("%s is refused in words, and nothing fails", async ([, raw], { server }) => {
  const headers = { accept: "application/json, text/event-stream", "content-type": "application/json" };
  const { status, text } = await server.request("POST", "/mcp", { token: ADMIN_TOKEN, raw, headers });
  expect(status).toBeLessThan(500);
  const isRefused = status >= 400 || /"error":\{|"isError":true/.test(text);
  expect({ isRefused, text }).toEqual({
    isRefused: true,
    text: expect.not.stringMatching(/server\.failed|node_modules|\.ts:/),
  });
});
