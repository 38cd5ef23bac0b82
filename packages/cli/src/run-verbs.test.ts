/** What a run left, from the command line: files, differences, forks, links, projects, and any call by its name. */
import { expect } from "vitest";
import { COLUMNS, runBinary } from "../../testkit/src/drover-binary.ts";
import { test, type TestServer } from "../../testkit/src/server.ts";
import { EXIT } from "./exit-code.ts";

async function read(server: TestServer, ...argv: readonly string[]): Promise<string> {
  const { code, out, err } = await runBinary(server, ...argv);
  expect(code, `${argv.join(" ")}: ${err}`).toBe(EXIT.ok);
  return out;
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
  expect(listed).toMatch(new RegExp(`^${id} +active +Flock$`, "m"));
  expect(calls).toMatch(/^listCosts +GET +\/costs\/records$/m);
  for (const line of [listed, calls].join("").split("\n")) expect(line.length, line).toBeLessThanOrEqual(COLUMNS);
  expect(wrong).toMatchObject({ code: EXIT.usage, err: expect.stringContaining("drover api list") as string });
  expect(needs).toMatchObject({ code: EXIT.usage, err: expect.stringContaining("needs project_id") as string });
  expect(body).toMatchObject({ code: EXIT.usage, err: expect.stringContaining("neither JSON nor YAML") as string });
});
