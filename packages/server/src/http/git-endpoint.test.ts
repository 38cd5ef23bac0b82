/** The Git endpoint, with the real client: people by role, sandboxes on their own branch, and every refusal in Git's words. */
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { request } from "node:http";
import { randomBytes } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import { API_BASE, type ProjectId } from "@drover/contract";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cloneRepository, openGitClient, toCloneUrl, type GitClient } from "../../../testkit/src/git/git-client.ts";
import { ADMIN_TOKEN, startTestServer, type TestSandbox, type TestServer } from "../../../testkit/src/server.ts";
import { hashSecret } from "../app/credential.ts";
import { insertSandboxToken } from "../store/sandboxes.ts";
import { toPacket } from "./pkt-line.ts";

const LIMIT_MB = 1;
let server: TestServer;
let folder: string;
let project: ProjectId;
let sandbox: TestSandbox;
let branch: string;
let clones = 0;

const toPath = (id: string) => `${API_BASE}/git/${id}.git`;
const clone = (token: string, id: string = project) =>
  cloneRepository(toCloneUrl(server.url, token, toPath(id)), join(folder, `clone-${(clones += 1)}`));
const listRefs = (token: string, path = toPath(project)) =>
  openGitClient(folder).run("ls-remote", toCloneUrl(server.url, token, path));
const listPushes = async (id: string) =>
  (await server.call("GET", `/sandboxes/${id}/events?event_type=git.pushed`)).body.events as {
    event_data: Record<string, unknown>;
    source: string;
  }[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "drover-git-http-"));
  server = await startTestServer({ config: { gitPushLimitMb: LIMIT_MB } });
  project = await server.createProject();
  sandbox = await server.createSandbox({ project_id: project });
  branch = `drover/${sandbox.id}`;
});
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

describe("people", () => {
  test("an operator clones a repository that nobody has used yet, pushes to main, and it is told", async () => {
    const { token } = await server.createToken("operator", project);
    const git = await clone(token);
    const commit = await git.commit({ "README.md": "hello\n" }, "say hello");
    await git.must("push", "--quiet", "origin", "HEAD:main");
    const { body } = await server.call("GET", "/events?event_type=git.pushed");
    expect(body.events[0].event_data).toMatchObject({
      branch: "main",
      to_commit: commit,
      commit_count: 1,
      commits: [{ id: commit, subject: "say hello" }],
    });
    expect((await listRefs(token, `/git/${project}.git`)).stdout).toContain(commit);
  });

  test("a viewer clones and does not push; a stranger sees no project; nobody comes in without a token", async () => {
    const viewer = await server.createToken("viewer", project);
    const git = await clone(viewer.token);
    await git.commit({ "a.txt": "a\n" });
    const refused = await git.run("push", "origin", "HEAD:main");
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain("remote: the role viewer may not push");
    const stranger = await server.createToken("admin", await server.createProject());
    expect((await listRefs(stranger.token)).stderr).toContain("remote: No such project");
    expect((await listRefs("drv_u_nobody")).stderr).toContain("Authentication failed");
    const plain = await server.request("GET", `${toPath(project)}/info/refs?service=git-upload-pack`);
    expect(plain.status).toBe(401);
    expect(plain.headers["www-authenticate"]).toMatch(/^Basic /);
    expect(plain.body.type).toBe("urn:drover:error:auth.required");
    const vague = await server.request("GET", `${toPath(project)}/info/refs`);
    expect(vague.status).toBe(401);
  });

  test("the default branch is neither deleted nor rewritten, and hidden refs are no branches", async () => {
    const git = await clone(ADMIN_TOKEN);
    expect((await git.run("push", "origin", ":main")).stderr).toContain("the default branch is not deleted");
    await git.must("checkout", "--quiet", "--orphan", "other");
    await git.commit({ "b.txt": "b\n" });
    expect((await git.run("push", "--force", "origin", "HEAD:main")).stderr).toContain("non-fast-forward");
    expect((await git.run("push", "origin", "HEAD:refs/drover/pulls/1")).stderr).toContain(
      "remote: only branches and tags are pushed",
    );
    await git.must("push", "--quiet", "--force", "origin", "HEAD:refs/heads/other", "HEAD:refs/tags/v1");
  });

  test.for(["/info/refs", "/info/refs?service=git-evil", "/HEAD", "/objects/info/packs", "/git-evil"])(
    "%s is not served",
    async (path) => {
      const answer = await server.request("GET", toPath(project) + path, { token: ADMIN_TOKEN });
      expect([404, 422]).toContain(answer.status);
    },
  );
});

describe("a sandbox", () => {
  let git: GitClient;

  beforeAll(async () => {
    git = await clone(sandbox.token);
  });

  test("fetches its project and pushes to its own branch, seen and told by the server", async () => {
    await git.must("checkout", "--quiet", "-b", "work", `origin/${branch}`);
    const commit = await git.commit({ "work.txt": "1\n" }, "do the work");
    await git.must("push", "--quiet", "origin", `HEAD:${branch}`);
    expect((await server.call("GET", `/sandboxes/${sandbox.id}`)).body.branch).toBe(branch);
    expect(await listPushes(sandbox.id)).toMatchObject([
      {
        source: "server",
        event_data: {
          branch,
          to_commit: commit,
          is_rewritten: false,
          commits: [{ id: commit, subject: "do the work" }],
        },
      },
    ]);
  });

  test("is refused everywhere else, in Git's own words, and works on", async () => {
    const before = (await listRefs(ADMIN_TOKEN)).stdout;
    await git.commit({ "work.txt": "2\n" });
    for (const target of [
      "HEAD:main",
      "HEAD:drover/drover-00000000-000000",
      "HEAD:refs/tags/x",
      "HEAD:refs/drover/x",
    ]) {
      const refused = await git.run("push", "--force", "origin", target);
      expect(refused.code).not.toBe(0);
      expect(refused.stderr).toContain(`remote: a sandbox may push only to its own branch, ${branch}`);
      expect(refused.stderr).toContain("[remote rejected]");
    }
    const both = await git.run("push", "origin", `HEAD:${branch}`, "HEAD:main");
    expect(both.stderr).toContain("refused with the others");
    expect((await git.run("push", "origin", `:${branch}`)).stderr).toContain("a sandbox may not delete its branch");
    expect((await listRefs(ADMIN_TOKEN)).stdout).toBe(before);
    await git.must("push", "--quiet", "origin", `HEAD:${branch}`);
    expect(await listPushes(sandbox.id)).toHaveLength(2);
  });

  test("sees no hidden ref, and cannot ask for one by name or by number", async () => {
    const dir = join(server.dataDir, "git", `${project}.git`);
    const local = openGitClient(dir);
    const hidden = await local.must("commit-tree", "-m", "hidden", "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
    await local.must("update-ref", "refs/drover/checkpoints/1", hidden);
    expect((await listRefs(sandbox.token)).stdout).not.toContain("refs/drover");
    expect((await git.run("fetch", "origin", "refs/drover/checkpoints/1")).code).not.toBe(0);
    for (const version of ["0", "1", "2"])
      expect((await git.run("-c", `protocol.version=${version}`, "fetch", "origin", hidden)).code).not.toBe(0);
  });

  test("may rewrite its own work, and not that of others", async () => {
    await git.must("commit", "--quiet", "--amend", "-m", "do the work better");
    expect((await git.run("push", "origin", `HEAD:${branch}`)).stderr).toContain("rejected");
    await git.must("push", "--quiet", "--force", "origin", `HEAD:${branch}`);
    expect((await listPushes(sandbox.id))[0]?.event_data).toMatchObject({ is_rewritten: true });
    const person = await clone(ADMIN_TOKEN);
    await person.must("checkout", "--quiet", branch);
    const theirs = await person.commit({ "theirs.txt": "1\n" });
    await person.must("push", "--quiet", "origin", `HEAD:${branch}`);
    const refused = await git.run("push", "--force", "origin", `HEAD:${branch}`);
    expect(refused.stderr).toContain("non-fast-forward");
    expect((await listRefs(ADMIN_TOKEN)).stdout).toContain(theirs);
    await git.must("pull", "--quiet", "--rebase", "origin", branch);
    await git.must("push", "--quiet", "origin", `HEAD:${branch}`);
  });

  test("does not reach another project, nor anything with a token that is not its present one", async () => {
    const other = await server.createProject();
    expect((await listRefs(sandbox.token, toPath(other))).stderr).toContain("remote: No such project");
    const gateway = "drv_s_for-models-only";
    await insertSandboxToken(server.db, hashSecret(gateway), sandbox.id, 1, "gateway");
    expect((await listRefs(gateway)).stderr).toContain("remote: this token is for models only");
    const own = "drv_s_for-git-only";
    await insertSandboxToken(server.db, hashSecret(own), sandbox.id, 1, "git");
    expect((await listRefs(own)).code).toBe(0);
    const replaced = await server.createSandbox({ project_id: project });
    const late = await clone(replaced.token);
    await late.commit({ "late.txt": "1\n" });
    await server.call("POST", `/sandboxes/${replaced.id}/worker-token`);
    expect((await late.run("push", "origin", `HEAD:drover/${replaced.id}`)).stderr).toContain(
      "remote: generation 2 has taken over",
    );
    await server.call("DELETE", `/sandboxes/${replaced.id}`);
    expect((await late.run("push", "origin", `HEAD:drover/${replaced.id}`)).code).not.toBe(0);
  });

  test("is told when a push is too large, and works on", async () => {
    const small = await git.must("rev-parse", "HEAD");
    await git.commit({ "large.bin": randomBytes(3 * 1024 * 1024) });
    const refused = await git.run("push", "origin", `HEAD:${branch}`);
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain(`remote: the push is larger than ${LIMIT_MB} MB`);
    await git.must("reset", "--quiet", "--hard", small);
    await git.commit({ "small.txt": "small\n" });
    await git.must("push", "--quiet", "origin", `HEAD:${branch}`);
  });

  test("a pack that never ends is not read to its end", async () => {
    const { status, sent } = await pushWithoutEnd();
    expect([200, "hung up"]).toContain(status);
    expect(sent).toBeLessThan(2 * 1024 * 1024 * 1024);
    expect((await listRefs(sandbox.token)).code).toBe(0);
  });

  test("a client that hangs up in the middle of a pack leaves nothing of it", async () => {
    const objects = join(server.dataDir, "git", `${project}.git`, "objects");
    const listHalves = async () => (await readdir(objects)).filter((name) => name.startsWith("tmp_"));
    const hangUp = pushHalf();
    await expect.poll(listHalves, { timeout: 30_000 }).not.toEqual([]);
    hangUp();
    await expect.poll(listHalves, { timeout: 20_000 }).toEqual([]);
  });

  test("is told when what it sends is not packed as it says", async () => {
    const headers = { authorization: `Bearer ${sandbox.token}`, "content-encoding": "gzip" };
    const answer = await server.request("POST", `${toPath(project)}/git-receive-pack`, { raw: "no gzip", headers });
    expect([answer.status, answer.body.detail]).toEqual([400, "the body breaks off"]);
  });
});

/** Sends a new blob whole and not the one behind it; the answer hangs up. */
function pushHalf(): () => void {
  const { hostname, port } = new URL(server.url);
  const command = `${"0".repeat(40)} ${"1".repeat(40)} refs/heads/${branch}\0report-status side-band-64k\n`;
  // Two objects, of which the first is a blob of 16 bytes.
  const start = Buffer.from([0, 0, 0, 2, 0, 0, 0, 2, 0xb0, 1]);
  const half = Buffer.concat([Buffer.from("PACK"), start, deflateSync(randomBytes(16))]);
  const outgoing = request({
    hostname,
    port,
    method: "POST",
    path: `${toPath(project)}/git-receive-pack`,
    headers: { authorization: `Bearer ${sandbox.token}`, "content-type": "application/x-git-receive-pack-request" },
  });
  outgoing.on("error", () => undefined);
  outgoing.write(Buffer.concat([toPacket(command), Buffer.from("0000"), half]));
  return () => void outgoing.destroy();
}

/** Sends zeros for as long as the server takes them, up to two gigabytes. */
async function pushWithoutEnd(): Promise<{ status: number | "hung up"; sent: number }> {
  const { hostname, port } = new URL(server.url);
  const command = `${"0".repeat(40)} ${"1".repeat(40)} refs/heads/${branch}\0report-status side-band-64k\n`;
  const chunk = Buffer.alloc(1024 * 1024);
  let sent = 0;
  return new Promise((resolve) => {
    const outgoing = request({
      hostname,
      port,
      method: "POST",
      path: `${toPath(project)}/git-receive-pack`,
      headers: { authorization: `Bearer ${sandbox.token}`, "content-type": "application/x-git-receive-pack-request" },
    });
    outgoing.once("error", () => resolve({ status: "hung up", sent }));
    outgoing.once("response", (incoming) => {
      incoming.resume();
      incoming.once("close", () => {
        resolve({ status: incoming.statusCode ?? 0, sent });
        outgoing.destroy();
      });
    });
    outgoing.write(Buffer.concat([toPacket(command), Buffer.from("0000PACK")]));
    const push = () => {
      while (sent < 2 * 1024 * 1024 * 1024 && !outgoing.destroyed) {
        sent += chunk.length;
        if (!outgoing.write(chunk)) return void outgoing.once("drain", push);
      }
    };
    push();
  });
}
