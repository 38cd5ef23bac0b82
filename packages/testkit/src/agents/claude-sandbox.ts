/** Claude at work in a sandbox of a test server, on a model that is played. */
import type { MessageRecord, NewSandbox, Sandbox, StoredEvent } from "@drover/contract";
import { expect } from "vitest";
import { AGENTS_CACHE } from "../ensure-agent.ts";
import { type ModelScript, type ScriptedModel, startScriptedModel } from "../model/scripted-model.ts";
import { startTestServer, type TestServer, type TestServerOptions } from "../server.ts";

const FACT_MS = 120_000;

export interface ClaudeRun extends AsyncDisposable {
  readonly id: string;
  readonly server: TestServer;
  readonly model: ScriptedModel;
  events(): Promise<readonly StoredEvent[]>;
  of(type: string): Promise<readonly StoredEvent["event_data"][]>;
  /** Resolves when there are so many events of this type. */
  untilCount(type: string, count?: number): Promise<void>;
  /** Runs in the sandbox; what it printed. */
  shell(script: string): Promise<string>;
  untilFile(path: string): Promise<void>;
  send(content: string, more?: object): Promise<string>;
  message(id: string): Promise<MessageRecord | undefined>;
}

export async function startClaude(
  script: ModelScript,
  input: NewSandbox = {},
  config: TestServerOptions["config"] = {},
): Promise<ClaudeRun> {
  const model = await startScriptedModel({ script });
  const server = await startTestServer({
    config: { agentsDir: AGENTS_CACHE, anthropicBaseUrl: model.url, ...config },
  });
  const body = { provider: "local", runtime: "claude", model: "claude-sonnet-4-5", prompt: "Do as planned.", ...input };
  const created = await server.call("POST", "/sandboxes", { body });
  if (created.status !== 201) throw new Error(`no sandbox: ${created.status} ${created.text}`);
  const { id } = created.body as Sandbox;
  const path = `/sandboxes/${id}`;
  const events = async () =>
    (await server.call("GET", `${path}/events?limit=500&order=asc`)).body.events as readonly StoredEvent[];
  const of = async (type: string) =>
    (await events()).filter(({ event_type }) => event_type === type).map(({ event_data }) => event_data);
  const shell = async (text: string) =>
    String((await server.call("POST", `${path}/exec`, { body: { argv: ["sh", "-c", text] } })).body.stdout);
  return {
    id,
    server,
    model,
    events,
    of,
    shell,
    untilCount: async (type, count = 1) => {
      const look = async () => {
        const { body: sandbox } = await server.call("GET", path);
        if (sandbox.state === "failed")
          throw new Error(`failed: ${sandbox.state_cause} ${JSON.stringify(await events())}`);
        return (await of(type)).length;
      };
      await expect.poll(look, { timeout: FACT_MS, interval: 50 }).toBeGreaterThanOrEqual(count);
    },
    untilFile: async (name) => {
      await expect.poll(() => shell(`ls ${name}`), { timeout: FACT_MS, interval: 100 }).toContain(name);
    },
    send: async (content, more = {}) => {
      const sent = await server.call("POST", `${path}/messages`, { body: { content, ...more } });
      if (sent.status !== 200) throw new Error(`not sent: ${sent.status} ${sent.text}`);
      return sent.body.message_id as string;
    },
    message: async (messageId) => {
      const { body: page } = await server.call("GET", `${path}/messages/history`);
      return (page.items as MessageRecord[]).find((one) => one.id === messageId);
    },
    [Symbol.asyncDispose]: async () => {
      await server.stop();
      await model[Symbol.asyncDispose]();
    },
  };
}
