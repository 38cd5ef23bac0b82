/** What a run left, from the command line: files, differences, forks, links, projects, and any call by its name. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "@drover/client";
import { expect } from "vitest";
import { COLUMNS, runBinary } from "../../testkit/src/drover-binary.ts";
import { ADMIN_TOKEN, test, type TestServer } from "../../testkit/src/server.ts";
import { toTrial } from "../test/terminal-double.ts";
import { EXIT } from "./exit-code.ts";
import { runCommand } from "./run-command.ts";

async function read(server: TestServer, ...argv: readonly string[]): Promise<string> {
  const { code, out, err } = await runBinary(server, ...argv);
  expect(code, `${argv.join(" ")}: ${err}`).toBe(EXIT.ok);
  return out;
}

/** The same in this process, which is quicker. */
function say(server: TestServer, ...argv: readonly string[]) {
  const trial = toTrial({ env: { DROVER_URL: server.url, DROVER_TOKEN: ADMIN_TOKEN }, createClient });
  return { ...trial, code: runCommand(trial.context, argv) };
}

async function tell(server: TestServer, ...argv: readonly string[]): Promise<string> {
  const { code, out, err } = say(server, ...argv);
  expect(await code, `${argv.join(" ")}: ${err.join("\n")}`).toBe(EXIT.ok);
  for (const line of out) expect(line.length, line).toBeLessThanOrEqual(COLUMNS);
  return out.join("\n");
}

const PATCH = `diff --git a/sheep.txt b/sheep.txt
new file mode 100644
index 0000000..f599e28
--- /dev/null
+++ b/sheep.txt
@@ -0,0 +1 @@
+10
`;

test("files and differences of a run, now and then; a fork, and a link to watch", async ({ server }) => {
  const script = {
    steps: [{ edit: { path: "sheep.txt", content: "10\n" } }, { edit: { path: "sheep.txt", content: "11\n" } }],
  };
  const body = JSON.stringify({ runtime: "scripted", prompt: "count", script, resources: { memory_gb: 0.5 } });
  const { id } = JSON.parse(await read(server, "api", "createSandbox", "--body", body)) as { id: string };
  const listEvents = async (type: string) => {
    const said = await read(server, "api", "listSandboxEvents", `sandbox_id=${id}`, `event_type=${type}`, "order=asc");
    return (JSON.parse(said) as { events: readonly { seq: number }[] }).events;
  };
  const countEnds = async () =>
    (await server.call("GET", `/sandboxes/${id}/events?event_type=agent.completed`)).body.total_count;
  await expect.poll(countEnds, { timeout: 100_000 }).toBe(1);
  const [first] = await listEvents("workspace.checkpoint");
  const then = String(first?.seq);
  const [now, before, listed, shown, patch] = await Promise.all([
    read(server, "files", id, "/workspace/sheep.txt", "--cat"),
    read(server, "files", id, "/workspace/sheep.txt", "--cat", "--at", then),
    read(server, "files", id),
    read(server, "diff", id, "sheep.txt"),
    read(server, "diff", id, "--at", then),
  ]);
  expect([now, before]).toEqual(["11\n", "10\n"]);
  expect(listed).toMatch(/^file +3 +\S.* ago +sheep\.txt$/m);
  expect(shown).toContain("+11");
  expect(patch).toBe(PATCH);

  const link = (await read(server, "share", "create", id, "--hours", "2")).trim();
  expect(link).toMatch(new RegExp(`^${server.url}/s/${id}#`));
  const [{ id: shareId } = { id: "" }] = JSON.parse(await read(server, "share", "list", id, "--json")) as {
    id: string;
  }[];
  expect(await read(server, "share", "revoke", id, shareId)).toBe(`${shareId} revoked\n`);
  const forked = (await read(server, "fork", id, "--at", then, "go", "on")).trim();
  const { body: made } = await server.call("GET", `/sandboxes/${forked}`);
  expect(made).toMatchObject({ prompt: "go on", runtime: "scripted" });
});

test("projects are made, changed and shown; any call is made by its name, and a wrong one is explained", async ({
  server,
}) => {
  const said = await read(
    server,
    "project",
    "create",
    "Herd",
    "--description",
    "sheep",
    "--autonomous",
    "on",
    "--json",
  );
  const { id } = JSON.parse(said) as { id: string };
  const changed = await read(server, "project", "set", id, "--name", "Flock", "--autonomous", "off");
  expect(changed).toMatch(/^name +Flock$/m);
  expect(changed).toMatch(/^autonomous +off$/m);
  const [listed, calls, wrong, needs, body] = await Promise.all([
    read(server, "project", "list"),
    read(server, "api", "list", "cost"),
    runBinary(server, "api", "noSuchCall"),
    runBinary(server, "api", "getProject"),
    runBinary(server, "api", "createProject", "--body", "{"),
  ]);
  const kept = await tell(server, "project", "set", id, "--setting", "retention_days=30", "--setting", "model=a-model");
  expect(kept).toMatch(/^retention_days +30$/m);
  expect(kept).toMatch(/^model +"a-model"$/m);
  expect(await tell(server, "project", "set", id, "--setting", "retention_days=null")).not.toContain("retention_days");
  for (const [setting, complaint] of [
    ["retention_days=soon", "settings.retention_days"],
    ["colour=red", "colour"],
  ] as const) {
    const { code: refused, err } = say(server, "project", "set", id, "--setting", setting);
    expect([await refused, err.join("\n")]).toEqual([EXIT.usage, expect.stringContaining(complaint)]);
  }
  const bare = say(server, "project", "git", id, "--github", "herd/flock");
  expect([await bare.code, bare.err.join()]).toEqual([EXIT.refused, expect.stringContaining("GitHub token")]);
  expect(await tell(server, "project", "git", id)).toMatch(/^host +drover\nclone at +\/api\/v1\/git\//);
  expect(await tell(server, "project", "git", id, "--builtin")).toMatch(/^host +drover\n/);
  expect(await say(server, "pr", "create", id, "gone", "Count").code).toBe(EXIT.refused);
  expect(listed).toMatch(new RegExp(`^${id} +active +Flock$`, "m"));
  expect(calls).toMatch(/^listCosts +GET +\/costs\/records$/m);
  for (const line of [listed, calls].join("").split("\n")) expect(line.length, line).toBeLessThanOrEqual(COLUMNS);
  expect(wrong).toMatchObject({ code: EXIT.usage, err: expect.stringContaining("drover api list") as string });
  expect(needs).toMatchObject({ code: EXIT.usage, err: expect.stringContaining("needs project_id") as string });
  expect(body).toMatchObject({ code: EXIT.usage, err: expect.stringContaining("neither JSON nor YAML") as string });
});

test("vendors of models are connected and forgotten, and what makes sandboxes is told", async ({ server }) => {
  const { context } = say(server, "help");
  const file = join(context.cwd, "key");
  writeFileSync(file, "a-key-of-a-vendor\n");
  const set = await tell(server, "models", "set", "gemini", "--key-file", file, "--base-url", "http://127.0.0.1:9");
  expect(set).toMatch(/^gemini +set +stored +http:\/\/127\.0\.0\.1:9$/m);
  const [listed, providers] = await Promise.all([read(server, "models", "list", "--json"), read(server, "providers")]);
  expect(JSON.parse(listed)).toContainEqual(expect.objectContaining({ protocol: "gemini", has_key: true }));
  expect(listed).not.toContain("a-key-of-a-vendor");
  expect(providers).toMatch(/^local /m);
  for (const line of providers.split("\n")) expect(line.length, line).toBeLessThanOrEqual(COLUMNS);
  expect(await tell(server, "models", "rm", "gemini")).toMatch(/^gemini +missing /m);
  expect(await say(server, "models", "set", "nobody").code).toBe(EXIT.usage);
  expect(await say(server, "models", "set", "gemini").code).toBe(EXIT.usage);
});

test("a worker of one's own is given its variables, once, and another one may take over; a run is what it was", async ({
  server,
}) => {
  const toEnv = (text: string) =>
    Object.fromEntries(Array.from(text.matchAll(/^export ([A-Z_]+)='([^']*)'$/gm), ([, name, value]) => [name, value]));
  const first = toEnv(await read(server, "run", "count", "--provider", "external"));
  expect(first).toEqual({
    SANDBOX_ID: expect.any(String),
    CALLBACK_URL: server.url,
    SANDBOX_TOKEN: expect.any(String),
  });
  const id = first["SANDBOX_ID"] ?? "";
  const second = toEnv(await read(server, "worker-token", id));
  expect(second).toEqual({ ...first, SANDBOX_TOKEN: expect.any(String) });
  expect(second["SANDBOX_TOKEN"]).not.toBe(first["SANDBOX_TOKEN"]);
  expect(await read(server, "recordings", id)).toBe("Nobody has opened a terminal in it.\n");
  expect(await read(server, "cancel", id)).toBe(`${id} cancelled\n`);
  const then = await tell(server, "show", id, "--at", "0");
  expect(then).toMatch(/^state +pending$/m);
  expect(await tell(server, "show", id)).toMatch(/^state +cancelled/m);
  expect(await tell(server, "costs", "records", "sandbox", id)).toBe("No model was called.");
  expect(await say(server, "costs", "records", "herd", id).code).toBe(EXIT.usage);
});
