/** A run of a real agent: installed from npm or brought along, in a sandbox on this machine, through the gateway, on a model that is played. */
import type { IncomingHttpHeaders } from "node:http";
import { isAgentName, type Sandbox, type StoredEvent } from "@drover/contract";
import { beforeAll, describe, expect, test } from "vitest";
import { AGENTS_CACHE, ensureAgent } from "../ensure-agent.ts";
import { startScriptedModel } from "../model/scripted-model.ts";
import { startTestServer, type TestServer } from "../server.ts";
import type { Brought } from "./bring-program.ts";
import { huntKeys, plantSecrets } from "./key-hunt.ts";

const FACT_MS = 200_000;
export const COMMAND = "echo one > made.txt && cat made.txt";

export interface Smoke {
  readonly runtime: string;
  /** Where its program comes from, if it is none that is installed. */
  readonly bring?: () => Promise<Brought>;
  /** The agent's own name for its shell, and what it takes. */
  readonly tool: { readonly name: string; readonly input: unknown };
  /** How the vendor is shown the key. */
  readonly toKey: (headers: IncomingHttpHeaders) => unknown;
  readonly secret: "openai" | "gemini" | "anthropic";
  /** What it is started without, and how it calls that itself. */
  readonly without?: { readonly tool: string; readonly names: readonly string[] };
}

export const bearer = ({ authorization = "" }: IncomingHttpHeaders) => authorization.replace("Bearer ", "");

async function readEvents(server: TestServer, id: string): Promise<readonly StoredEvent[]> {
  return (await server.call("GET", `/sandboxes/${id}/events?limit=500&order=asc`)).body.events;
}

const bringNothing = async (): Promise<Brought> => ({ input: {}, [Symbol.asyncDispose]: async () => undefined });

export function describeSmoke({ runtime, bring = bringNothing, tool, toKey, secret, without }: Smoke): void {
  describe(`${runtime}`, () => {
    beforeAll(async () => void (isAgentName(runtime) && (await ensureAgent(runtime))));

    test("works in a sandbox, through the gateway, and finds no key there", async () => {
      const { secrets, config } = plantSecrets();
      // By what stands in the request, not by its number: agents ask for titles, and ask again.
      await using model = await startScriptedModel({
        script: ({ toolNames, toolResults }) => {
          if (!toolNames.includes(tool.name)) return { text: "A title" };
          return toolResults.length === 0 ? { text: "I make it.", tools: [tool] } : { text: "It is made." };
        },
      });
      await using server = await startTestServer({
        config: {
          ...config,
          agentsDir: AGENTS_CACHE,
          openaiBaseUrl: model.url,
          geminiBaseUrl: model.url,
          anthropicBaseUrl: model.url,
        },
      });
      await using brought = await bring();
      const disallowed = without === undefined ? {} : { disallowed_tools: [without.tool] };
      const body = { provider: "local", runtime, prompt: "Make a file.", ...disallowed, ...brought.input };
      const created = await server.call("POST", "/sandboxes", { body });
      expect([created.status, created.text]).toEqual([201, expect.any(String)]);
      const { id } = created.body as Sandbox;
      const isOver = async () =>
        (await readEvents(server, id)).find(({ event_type }) => /^agent\.(waiting|failed)$/.test(event_type));
      await expect.poll(isOver, { timeout: FACT_MS, interval: 250 }).toBeDefined();

      const events = await readEvents(server, id);
      const of = (type: string) => events.filter(({ event_type }) => event_type === type).map((one) => one.event_data);
      expect(of("agent.failed")).toEqual([]);
      // A tool that is forbidden is not offered to the model at all.
      const offered = new Set(model.requests.flatMap(({ toolNames }) => toolNames));
      expect(without?.names.filter((name) => offered.has(name)) ?? []).toEqual([]);
      expect(of("agent.started")).toMatchObject([{ sdk: runtime }]);
      expect(of("agent.tool_use")).toMatchObject([{ tool: "Bash", turn: 1 }]);
      expect(of("agent.tool_result")).toMatchObject([{ is_error: false }]);
      expect(of("agent.file_edited")).toMatchObject([{ file_path: "made.txt", change_type: "created" }]);
      expect(of("agent.completed")).toMatchObject([{ success: true, final_output: "It is made." }]);
      expect(of("agent.usage").length).toBeGreaterThanOrEqual(2);

      expect(new Set(model.requests.map(({ headers }) => toKey(headers)))).toEqual(new Set([secrets[secret]]));
      // The agent still runs: what it and its processes hold is looked at too.
      const hunt = await huntKeys(server, id, secrets);
      expect(hunt.found).toEqual([]);
      expect(hunt.processes).toBeGreaterThanOrEqual(4);
    });
  });
}
