/** A repository comes into a sandbox as one file, and is checked out there. */
import { execFileSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestServer, type TestServer } from "../../../testkit/src/server.ts";

let server: TestServer;
let folder: string;
let repo: string;

const git = (...args: string[]) =>
  execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.org", ...args], {
    cwd: repo,
    encoding: "utf8",
  });

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "drover-repo-"));
  repo = join(folder, "repo");
  execFileSync("git", ["init", "--quiet", "--initial-branch", "trunk", repo]);
  await writeFile(join(repo, "README.md"), "trunk\n");
  git("add", ".");
  git("commit", "--quiet", "-m", "first");
  git("checkout", "--quiet", "-b", "side");
  await writeFile(join(repo, "README.md"), "side\n");
  git("commit", "--quiet", "-a", "-m", "second");
  git("checkout", "--quiet", "trunk");
  server = await startTestServer();
});

afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

const script = { steps: [{ command: { argv: ["git", "log", "--format=%s", "-1"] } }] };

async function runWith(body: Readonly<Record<string, unknown>>): Promise<string> {
  const created = await server.call("POST", "/sandboxes", { body: { runtime: "scripted", script, ...body } });
  expect(created.status).toBe(201);
  const { id } = created.body as { id: string };
  const read = async () => {
    const { body: page } = await server.call("GET", `/sandboxes/${id}/events?limit=500`);
    return (page as { events: { event_type: string; event_data: Record<string, unknown> }[] }).events;
  };
  await expect
    .poll(async () => (await read()).some((one) => /agent.completed|agent.failed/.test(one.event_type)), {
      timeout: 60_000,
    })
    .toBe(true);
  const events = await read();
  await server.call("DELETE", `/sandboxes/${id}`);
  return events
    .filter((one) => one.event_type === "command.output")
    .map((one) => String(one.event_data["chunk"]))
    .join("");
}

test("the default branch is checked out", async () => {
  expect(await runWith({ repo })).toBe("first\n");
});

test("a named branch is checked out", async () => {
  expect(await runWith({ repo, base_branch: "side" })).toBe("second\n");
});

test("a repository that is not there fails the sandbox and says so", async () => {
  const created = await server.call("POST", "/sandboxes", { body: { repo: join(folder, "nowhere") } });
  const { id } = created.body as { id: string };
  const state = async () =>
    (await server.call("GET", `/sandboxes/${id}`)).body as { state: string; state_cause: string };
  await expect.poll(async () => (await state()).state, { timeout: 60_000 }).toBe("failed");
  expect((await state()).state_cause).toContain("nowhere");
});

test("an operator may not hand in files of the server's disk", async () => {
  const { token } = await server.createToken("operator");
  const refused = await server.call("POST", "/sandboxes", { token, body: { repo } });
  expect(refused.status).toBe(403);
});

test("a sandbox of a project that has a repository works on a branch of its own there, and pushes to it", async () => {
  const created = await server.call("POST", "/projects", { body: { name: "with a repository", repo } });
  const { id: project_id } = created.body as { id: string };
  const command = (...argv: string[]) => ({ command: { argv } });
  const said = await runWith({
    project_id,
    script: {
      steps: [
        command("git", "log", "--format=%s", "-1"),
        command("sh", "-c", "echo done > result.txt; git add result.txt; git commit --quiet -m 'the result'"),
        command("sh", "-c", "git push origin HEAD:trunk 2>&1 | grep remote:"),
        command("sh", "-c", "git push --quiet 2>&1; git fetch 2>&1; git status -sb | head -1"),
      ],
    },
  });
  const { body } = await server.call("GET", `/sandboxes?project_id=${project_id}`);
  const [{ id, branch }] = body.items;
  expect(branch).toBe(`drover/${id}`);
  expect(said).toContain("first\n");
  expect(said).toContain(`remote: a sandbox may push only to its own branch, ${branch}`);
  expect(said).toContain(`## ${branch}...origin/${branch}\n`);
  const { body: pushes } = await server.call("GET", `/sandboxes/${id}/events?event_type=git.pushed`);
  expect(pushes.events).toMatchObject([{ event_data: { branch, commits: [{ subject: "the result" }] } }]);
});
