/** The server's own model, played: asked by the way it is asked in earnest, gateway and vendor's protocol included. */
import { expect, onTestFinished } from "vitest";
import { openJudge } from "../../server/src/adapters/judge-model.ts";
import type { Deps } from "../../server/src/app/deps.ts";
import type { ModelRequest } from "./model/read-request.ts";
import { startScriptedModel, type ScriptedModel } from "./model/scripted-model.ts";
import type { ModelTurn } from "./model/turn.ts";
import type { TestServer } from "./server.ts";
import { silentLog } from "./silent-log.ts";

/** What the vendor is shown. */
export const JUDGE_KEY = "sk-the-judges-key";

/** A model that gives the answer in whichever way it is asked for one. */
export const toAnswer = (request: ModelRequest, answer: unknown): ModelTurn =>
  request.toolNames.includes("json") ? { tools: [{ name: "json", input: answer }] } : { text: JSON.stringify(answer) };

/** Until the test is over. */
export async function startJudgeModel(script: (request: ModelRequest) => ModelTurn): Promise<ScriptedModel> {
  const model = await startScriptedModel({ script, isTurn: () => true });
  onTestFinished(() => model[Symbol.asyncDispose]());
  return model;
}

/** The model is connected as an administrator connects it. */
export async function withJudge(
  server: TestServer,
  model: { readonly url: string },
  vendor = "anthropic",
  name = "scripted-model",
): Promise<Deps> {
  const protocol = { anthropic: "anthropic", google: "gemini" }[vendor] ?? "openai";
  const body = { base_url: model.url, api_key: JUDGE_KEY };
  const put = await server.call("PUT", `/models/upstreams/${protocol}`, { body });
  expect([put.status, put.text]).toEqual([200, expect.any(String)]);
  return { ...server.deps, judge: openJudge({ model: `${vendor}:${name}`, log: silentLog }) };
}
