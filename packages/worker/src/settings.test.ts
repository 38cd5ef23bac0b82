import { expect, test } from "vitest";
import { parseSettings } from "./settings.ts";

const NEEDED = { SANDBOX_ID: "drover-00000000-000000", CALLBACK_URL: "http://localhost:1", SANDBOX_TOKEN: "drv_s_x" };
const parse = (env: Record<string, string>) => parseSettings({ ...NEEDED, ...env }, "/here");
const encode = (data: object) => Buffer.from(JSON.stringify(data)).toString("base64");

test("the directory is the one that is named first", () => {
  expect(parse({}).cwd).toBe("/here");
  expect(parse({ WORKSPACE_PATH: "/workspace" }).cwd).toBe("/workspace");
  expect(parse({ WORKSPACE_PATH: "/workspace", CWD: "/other" }).cwd).toBe("/other");
});

test("a pull request is made of what was pushed, so that is what is looked at", () => {
  expect([...parse({ REQUIRE_PR_CREATED: "true" }).required]).toEqual([["pushed", true]]);
  expect([...parse({ REQUIRE_PR_CREATED: "true", REQUIRE_CODE_PUSHED: "false" }).required]).toEqual([["pushed", true]]);
  expect([...parse({ REQUIRE_PR_CREATED: "false" }).required]).toEqual([]);
});

test("limits of iterations and the phrase that ends them are those of the environment", () => {
  const env = { MAX_ITERATIONS: "3", COMPLETION_SIGNAL: "ALL FINE", COMPLETION_THRESHOLD: "2" };
  expect(parse(env).limits).toEqual({ max_iterations: 3, completion_signal: "ALL FINE", completion_threshold: 2 });
  expect(parse({}).limits).toEqual({});
});

test("what a reviewer recommends stands in the prompt, and the task written out behind the instructions", () => {
  const data = {
    task: { description: "paint" },
    revision: { feedback: "too dark", recommendations: ["more white", "less black"] },
    _markdown_context: "# Paint",
  };
  const settings = parse({ TASK_DATA_BASE64: encode(data), SYSTEM_PROMPT_APPEND: "be brief" });
  expect(settings.prompt).toBe("paint\n\nA reviewer sent this back:\ntoo dark\nmore white\nless black");
  expect(settings.systemPromptAppend).toBe("be brief\n\n# Paint");
});

test("lists and names that are none are refused by their name", () => {
  expect(parse({ SETTING_SOURCES: "user, project" }).settingSources).toEqual(["user", "project"]);
  expect(() => parse({ SETTING_SOURCES: "everybody" })).toThrow("SETTING_SOURCES is not valid");
  expect(() => parse({ EXECUTION_MODE: "dreaming" })).toThrow("EXECUTION_MODE is not valid");
  expect(() => parse({ MCP_SERVER_URL: "file:///etc" })).toThrow("MCP_SERVER_URL is not valid");
});

test("what this worker cannot do is refused with what to do instead, unless it is switched off", () => {
  for (const name of [
    "SPEC_ID",
    "SPEC_PHASE",
    "PHASE_DATA_B64",
    "REPORTER_MODE",
    "REQUIRE_SPEC_SKILL",
    "PREVIEW_ENABLED",
  ])
    expect(() => parse({ [name]: "1" }), name).toThrow(new RegExp(`${name}: .{20}`));
  expect(parse({ PREVIEW_ENABLED: "false", REQUIRE_SPEC_SKILL: "0", SPEC_ID: "" }).cwd).toBe("/here");
});
