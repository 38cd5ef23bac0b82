/** A real agent's session goes on in another sandbox: with its own memory, or told what went before, and with its files. */
import type { AgentName, Sandbox, StoredEvent } from "@drover/contract";
import { beforeAll, describe, expect, test } from "vitest";
import { AGENTS_CACHE, ensureAgent } from "../ensure-agent.ts";
import { startScriptedModel } from "../model/scripted-model.ts";
import type { ScriptedTool } from "../model/turn.ts";
import { startTestServer, type TestServer } from "../server.ts";

const FACT_MS = 200_000;
const PROMPT = "Keep the number 4711 in notes.txt.";

export interface MovedSession {
  readonly runtime: AgentName;
  readonly run: (command: string) => ScriptedTool;
  readonly how: "native" | "reseeded";
}

async function read(server: TestServer, id: string, type: string) {
  const { body } = await server.call("GET", `/sandboxes/${id}/events?limit=500&order=asc`);
  const events = body.events as readonly StoredEvent[];
  const failed = events.find(({ event_type }) => event_type === "agent.failed");
  if (failed !== undefined) throw new Error(`it failed: ${JSON.stringify(failed.event_data)}`);
  return events.filter(({ event_type }) => event_type === type).map(({ event_data }) => event_data);
}

export function describeMovedSession({ runtime, run, how }: MovedSession): void {
  describe(`${runtime} in another sandbox`, () => {
    beforeAll(async () => void (await ensureAgent(runtime)));

    test(`goes on with its files, ${how}`, async () => {
      // Asked of the request alone: agents ask for titles, and ask again.
      await using model = await startScriptedModel({
        script: ({ body, toolNames, toolResults }) => {
          if (toolNames.length === 0) return { text: "A title" };
          if (JSON.stringify(body).includes("And now?")) return { text: "I remember." };
          return toolResults.length === 0
            ? { text: "I write it down.", tools: [run("echo 4711 > notes.txt")] }
            : { text: "It is written." };
        },
      });
      await using server = await startTestServer({
        config: {
          agentsDir: AGENTS_CACHE,
          openaiBaseUrl: model.url,
          geminiBaseUrl: model.url,
          anthropicBaseUrl: model.url,
        },
      });
      const create = async (body: object): Promise<string> => {
        const created = await server.call("POST", "/sandboxes", { body });
        expect([created.status, created.text]).toEqual([201, expect.any(String)]);
        return (created.body as Sandbox).id;
      };
      const untilDone = async (id: string) => {
        const look = () => read(server, id, "agent.waiting");
        await expect.poll(look, { timeout: FACT_MS, interval: 250 }).toHaveLength(1);
      };
      const first = await create({ provider: "local", runtime, prompt: PROMPT });
      await untilDone(first);
      await server.call("DELETE", `/sandboxes/${first}`);

      const second = await create({ resume_from: first, prompt: "And now?" });
      await untilDone(second);
      expect(await read(server, second, "agent.resumed")).toMatchObject([{ how, from: first, files: "restored" }]);
      expect((await read(server, second, "agent.message")).at(-1)).toMatchObject({ content: "I remember." });
      const asked = JSON.stringify(model.requests.findLast(({ toolNames }) => toolNames.length > 0)?.body);
      for (const words of [PROMPT, "I write it down."]) expect(asked).toContain(words);
      const { body } = await server.call("POST", `/sandboxes/${second}/exec`, { body: { argv: ["cat", "notes.txt"] } });
      expect(body).toMatchObject({ stdout: "4711\n" });
    });
  });
}
