/** Every verb by the real binary: its help against the page, and the verbs that look at runs against the real server. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect } from "vitest";
import { runBinary } from "../../testkit/src/drover-binary.ts";
import { test } from "../../testkit/src/server.ts";
import { sql } from "../../server/src/store/sql.ts";
import { EXIT } from "./exit-code.ts";
import { VERBS } from "./verbs.ts";

const PAGE = readFileSync(new URL("../../../docs/CLI.md", import.meta.url), "utf8");
const AT_ONCE = 3;

const NOWHERE = { url: "http://127.0.0.1:1" };

test("what each verb's --help prints is what docs/CLI.md says", { timeout: 600_000 }, async () => {
  const waiting = VERBS.map(({ name }) => name);
  const work = async () => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      const { code, out } = await runBinary(NOWHERE, name, "--help");
      expect({ name, code }).toEqual({ name, code: EXIT.ok });
      expect(PAGE, `drover ${name} --help`).toContain(`## ${name}\n\n\`\`\`text\n${out}\`\`\`\n`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
});

test("completions are scripts of their shell and know every verb", async () => {
  const [bash, zsh, fish, none] = await Promise.all([
    runBinary(NOWHERE, "completion", "bash"),
    runBinary(NOWHERE, "completion", "zsh"),
    runBinary(NOWHERE, "completion", "fish"),
    runBinary(NOWHERE, "completion", "tcsh"),
  ]);
  for (const { name } of VERBS) {
    expect(bash.out).toContain(`    ${name}) words=`);
    expect(zsh.out).toContain(`    ${name}) choices=`);
    expect(fish.out).toContain(` -a ${name} `);
  }
  expect(none.code).toBe(EXIT.usage);
  // Bash itself completes with it.
  const script = `${bash.out}\nCOMP_WORDS=(drover budgets cr); COMP_CWORD=2; _drover; echo "\${COMPREPLY[*]}"`;
  const said = await new Promise<string>((done) => void execFile("bash", ["-c", script], (_, out) => done(out)));
  expect(said).toBe("create\n");
});

test("runs are queried and compared, and the newest are listed", async ({ server }) => {
  const [one, other] = [await server.createSandbox(), await server.createSandbox()];
  await one.post({
    events: [1, 2].map((n) => ({ event_type: "agent.message", event_data: { content: `said ${n}` } })),
  });
  const edit = { file_path: "a.txt", change_type: "modified", lines_added: 3, lines_removed: 1 };
  await other.post({ event_type: "agent.file_edited", event_data: { turn: 1, ...edit } });

  const [found, counted, everywhere, compared, told, recent] = await Promise.all([
    runBinary(server, "query", one.id, "--type", "agent.message", "--after-seq", "0", "--json"),
    runBinary(server, "query", one.id, "--count", "--json"),
    runBinary(server, "query", "--type", "agent.file_edited", "--source", "agent"),
    runBinary(server, "compare", one.id, other.id, "--json"),
    runBinary(server, "compare", one.id, other.id, "--differences"),
    runBinary(server, "ls", "--recent", "--json"),
  ]);
  const lines = found.out.trim().split("\n");
  expect(lines.map((line) => JSON.parse(line).event_data.content)).toEqual(["said 1", "said 2"]);
  expect(JSON.parse(counted.out)).toMatchObject({ "agent.message": 2 });
  expect(everywhere.out).toMatch(new RegExp(`^${other.id} .* agent.file_edited`, "m"));
  for (const line of everywhere.out.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
  expect(JSON.parse(compared.out)).toMatchObject({
    a: { id: one.id, counts: { "agent.message": 2 }, files: {} },
    b: { id: other.id, files: { "a.txt": { added: 3, removed: 1 } } },
  });
  expect(told.out).toMatch(/^2 +0 +agent\.message$/m);
  expect(told.out).toMatch(/^- +\+3 -1 +a\.txt$/m);
  for (const line of told.out.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
  expect(JSON.parse(recent.out).map(({ id }: { id: string }) => id)).toEqual(
    expect.arrayContaining([one.id, other.id]),
  );
  expect(await runBinary(server, "query", "--source", "nobody")).toMatchObject({ code: EXIT.usage, out: "" });
});

test("verify tells each step, and spec-run the whole way from project to result", async ({ server }) => {
  const [verified, unreachable, reference] = await Promise.all([
    runBinary(server, "verify"),
    runBinary(NOWHERE, "verify"),
    runBinary(server, "spec-run", "--json"),
  ]);
  expect(verified).toMatchObject({ code: EXIT.ok, err: "" });
  expect(verified.out.match(/^ok /gm)).toHaveLength(6);
  expect(unreachable.code).toBe(EXIT.unreachable);
  expect(unreachable.err).toContain("drover up");
  expect(reference.code, reference.out + reference.err).toBe(EXIT.ok);
  const { ok, checks, sandbox_id } = JSON.parse(reference.out);
  expect({ ok, failed: checks.filter((check: { ok: boolean }) => !check.ok) }).toEqual({ ok: true, failed: [] });
  expect(checks).toHaveLength(7);
  // What it says about the run is what stands in its log.
  const { body } = await server.call("GET", `/sandboxes/${sandbox_id}/events?limit=500&event_type=agent.tool_result`);
  expect(JSON.stringify(body.events)).toContain("126410606437752");
});

test("retention says what is older than its project keeps it, and removes that alone", async ({ server }) => {
  const project = await server.createProject();
  await server.call("PATCH", `/projects/${project}`, { body: { settings: { retention_days: 7 } } });
  const [old, young] = [
    await server.createSandbox({ project_id: project }),
    await server.createSandbox({ project_id: project }),
  ];
  const isClosed = async (id: string) =>
    (await server.db.query(sql`select closed_at is not null as closed from sandboxes where id = ${id}`))[0]?.["closed"];
  for (const { id } of [old, young]) {
    await server.call("DELETE", `/sandboxes/${id}`);
    await expect.poll(() => isClosed(id)).toBe(true);
  }
  expect(await runBinary(server, "retention", "--dry-run")).toMatchObject({
    code: EXIT.ok,
    out: "Nothing is older than its project keeps it.\n",
  });
  await server.db.query(
    sql`update sandboxes set (ended_at, closed_at) = (now() - interval '8 days', now() - interval '8 days') where id = ${old.id}`,
  );
  const count = async () => (await server.call("GET", `/sandboxes/${old.id}/events`)).body.events.length as number;
  const told = await runBinary(server, "retention", "--dry-run");
  expect(told.out).toMatch(new RegExp(`^SANDBOX +ENDED +EVENTS +PROJECT\\n${old.id} +\\d{4}-\\d\\d-\\d\\d +\\d+ +`));
  for (const line of told.out.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
  expect(await count()).toBeGreaterThan(0);
  const { code, out } = await runBinary(server, "retention", "--json");
  expect({ code, ids: JSON.parse(out).items.map((item: { sandbox_id: string }) => item.sandbox_id) }).toEqual({
    code: EXIT.ok,
    ids: [old.id],
  });
  expect(await count()).toBe(0);
  expect(await runBinary(server, "retention", "too", "much")).toMatchObject({ code: EXIT.usage });
});
