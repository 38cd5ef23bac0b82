/** Before a sandbox is made, its repository and its branch are looked at: by whom it may be, and where the server may look. */
import { execFileSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import { test, type TestServer } from "../../../testkit/src/server.ts";

let folder: string;
const git = (...args: string[]) =>
  execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.org", ...args], { cwd: folder });

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "drover-check-"));
  git("init", "--quiet", "--initial-branch", "trunk");
  await writeFile(join(folder, "README.md"), "trunk\n");
  git("add", ".");
  git("commit", "--quiet", "-m", "first");
  git("branch", "side");
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const check = async (server: TestServer, body: unknown, token?: string) =>
  server.call("POST", "/repositories/check", { body, ...(token === undefined ? {} : { token }) });

test("a repository that is named is found with its branches, and a branch it does not have is told", async ({
  server,
}) => {
  expect((await check(server, { repo: folder })).body).toEqual({
    status: "found",
    branch: "trunk",
    default_branch: "trunk",
    branches: ["side", "trunk"],
    branch_count: 2,
    detail: null,
    checked_at: expect.stringMatching(/Z$/),
  });
  expect((await check(server, { repo: folder, branch: "side" })).body).toMatchObject({
    status: "found",
    branch: "side",
  });
  expect((await check(server, { repo: folder, branch: "tru" })).body).toMatchObject({
    status: "no_branch",
    branch: "tru",
    default_branch: "trunk",
  });
  expect((await check(server, { repo: join(folder, "nothing") })).body).toMatchObject({ status: "unreachable" });
});

test("a project's own repository is looked at where none is named: where it will come from, then as it is here", async ({
  server,
}) => {
  const fresh = await server.createProject("fresh");
  expect((await check(server, { project_id: fresh })).body).toMatchObject({ status: "fresh", branches: [] });
  const { body: made } = await server.call("POST", "/projects", { body: { name: "taken in", repo: folder } });
  expect((await check(server, { project_id: made.id })).body).toMatchObject({ status: "found", branch: "trunk" });
  await server.call("GET", `/projects/${made.id}/git`);
  git("branch", "later");
  expect((await check(server, { project_id: made.id, branch: "later" })).body).toMatchObject({ status: "no_branch" });
  // Nothing was made of the one that has none.
  expect((await check(server, { project_id: fresh })).body.status).toBe("fresh");
});

test("the server looks neither at itself nor into private networks, and not at its disk for everybody", async ({
  server,
}) => {
  const refused = [
    server.url,
    "http://127.0.0.1/a.git",
    "http://169.254.169.254/latest/a.git",
    "http://10.0.0.1/a.git",
    "https://[::1]/a.git",
    "https://2130706433/a.git",
    "https://example.org:22/a.git",
  ];
  for (const repo of refused) expect([repo, (await check(server, { repo })).body.status]).toEqual([repo, "refused"]);
  const operator = (await server.createToken("operator")).token;
  expect((await check(server, { repo: folder }, operator)).body).toMatchObject({
    status: "refused",
    detail: expect.stringContaining("only an admin"),
  });
  expect((await check(server, {}, (await server.createToken("viewer")).token)).status).toBe(403);
  expect((await check(server, { repo: "../elsewhere" })).body).toMatchObject({ status: "refused", branches: [] });
  const elsewhere = await server.createProject("elsewhere");
  const here = await server.createToken("operator", await server.createProject("here"));
  expect((await check(server, { project_id: elsewhere }, here.token)).status).toBe(404);
});
