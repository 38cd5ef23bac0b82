/** Every verb by the real binary: its help against the page, and the verbs that look at runs against the real server. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { ADMIN_TOKEN, test, type TestServer } from "../../testkit/src/server.ts";
import { EXIT } from "./exit-code.ts";
import { VERBS } from "./verbs.ts";

const MAIN = fileURLToPath(new URL("main.ts", import.meta.url));
const PAGE = readFileSync(new URL("../../../docs/CLI.md", import.meta.url), "utf8");
/** Ends what hangs; nothing waits for it otherwise. */
const LIMIT_MS = 100_000;
const AT_ONCE = 3;

interface Ran {
  readonly code: number | string | null;
  readonly out: string;
  readonly err: string;
}

const run = (server: Pick<TestServer, "url">, ...argv: readonly string[]) =>
  new Promise<Ran>((done) => {
    const env = { ...process.env, COLUMNS: "80", DROVER_URL: server.url, DROVER_TOKEN: ADMIN_TOKEN };
    const child = execFile(process.execPath, [MAIN, ...argv], { env, timeout: LIMIT_MS }, (error, out, err) =>
      done({ code: error === null ? 0 : (error.code ?? null), out, err }),
    );
    child.stdin?.end();
  });

const NOWHERE = { url: "http://127.0.0.1:1" };

test("what each verb's --help prints is what docs/CLI.md says", async () => {
  const waiting = VERBS.map(({ name }) => name);
  const work = async () => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      const { code, out } = await run(NOWHERE, name, "--help");
      expect({ name, code }).toEqual({ name, code: EXIT.ok });
      expect(PAGE, `drover ${name} --help`).toContain(`## ${name}\n\n\`\`\`text\n${out}\`\`\`\n`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
});

test("completions are scripts of their shell and know every verb", async () => {
  const [bash, zsh, fish, none] = await Promise.all([
    run(NOWHERE, "completion", "bash"),
    run(NOWHERE, "completion", "zsh"),
    run(NOWHERE, "completion", "fish"),
    run(NOWHERE, "completion", "tcsh"),
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
    run(server, "query", one.id, "--type", "agent.message", "--after-seq", "0", "--json"),
    run(server, "query", one.id, "--count", "--json"),
    run(server, "query", "--type", "agent.file_edited", "--source", "agent"),
    run(server, "compare", one.id, other.id, "--json"),
    run(server, "compare", one.id, other.id, "--differences"),
    run(server, "ls", "--recent", "--json"),
  ]);
  const lines = found.out.trim().split("\n");
  expect(lines.map((line) => JSON.parse(line).event_data.content)).toEqual(["said 1", "said 2"]);
  expect(JSON.parse(counted.out)).toMatchObject({ "agent.message": 2 });
  expect(everywhere.out).toContain("agent.file_edited");
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
  expect(await run(server, "query", "--source", "nobody")).toMatchObject({ code: EXIT.usage, out: "" });
});

test("verify tells each step, and spec-run the whole way from project to result", async ({ server }) => {
  const [verified, unreachable, reference] = await Promise.all([
    run(server, "verify"),
    run(NOWHERE, "verify"),
    run(server, "spec-run", "--json"),
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
