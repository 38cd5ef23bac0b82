/** A project at GitHub: sandboxes push through Drover, pull requests merge in spite of GitHub's moods, webhooks close tickets. */
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sign } from "@octokit/webhooks-methods";
import { API_BASE, type ProjectId } from "@drover/contract";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cloneRepository, toCloneUrl } from "../../../testkit/src/git/git-client.ts";
import { readCommitted } from "../../../testkit/src/git/commit-files.ts";
import { OWNER, startGitHub, type GitHubServer } from "../../../testkit/src/github/github-server.ts";
import { startTestServer, type TestServer } from "../../../testkit/src/server.ts";
import { ensureTicketBranch } from "../app/branch-workflow.ts";
import { followPullsOnce } from "../app/follow-pulls.ts";
import { setSandboxBranch } from "../store/git.ts";

const { signal } = new AbortController();
const SECRET = "the secret of the webhooks";
let folder: string;
let github: GitHubServer;
let server: TestServer;
let gitDir: string;
let project: ProjectId;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "drover-github-"));
  github = await startGitHub(folder);
  github.thinkAbout(1);
  ({ gitDir } = await github.createRepository("sheep"));
  server = await startTestServer({ config: { githubApiUrl: github.apiUrl, githubUrl: github.webUrl } });
  project = await server.createProject();
});
afterAll(async () => {
  await server.stop();
  await github[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const createTicket = async (title: string) => {
  const { body } = await server.call("POST", "/tickets", { body: { title, project_id: project } });
  return body as { id: string; title: string; project_id: ProjectId };
};
const getStatus = async (id: string) => (await server.call("GET", `/tickets/${id}`)).body.status as string;

/** A sandbox of a ticket, and its clone through Drover. */
async function openWork(ticket: { id: string; title: string; project_id: ProjectId }) {
  const branch = await ensureTicketBranch(server.deps, ticket, signal);
  const sandbox = await server.createSandbox({ project_id: project, repo: "https://example.org/none.git" });
  await setSandboxBranch(server.db, sandbox.id, branch.name);
  const url = toCloneUrl(server.url, sandbox.token, `${API_BASE}/git/${project}.git`);
  const git = await cloneRepository(url, join(folder, sandbox.id));
  await git.must("checkout", "--quiet", branch.name);
  return { branch: branch.name, sandbox, git };
}

test("a project is connected by its admin; its secrets are never shown", async () => {
  const change = { host: "github", owner: OWNER, name: "sheep", token: github.token, webhook_secret: SECRET };
  const { token } = await server.createToken("operator", project);
  expect((await server.call("PATCH", `/projects/${project}/git`, { token, body: change })).status).toBe(403);
  const connected = await server.call("PATCH", `/projects/${project}/git`, { body: change });
  expect(connected.body).toMatchObject({
    host: "github",
    owner: OWNER,
    name: "sheep",
    has_token: true,
    has_webhook_secret: true,
    default_branch: "main",
    branches: [{ name: "main" }],
  });
  expect(connected.text + (await server.call("GET", `/projects/${project}/git`)).text).not.toMatch(/ghp_|webhooks"/);
  const other = await server.createProject();
  expect((await server.call("PATCH", `/projects/${other}/git`, { body: change })).status).toBe(409);
  // What GitHub does not show is not kept either: the project stands where it stood.
  for (const wrong of [{ name: "goats" }, { name: "goats", token: null }])
    expect((await server.call("PATCH", `/projects/${other}/git`, { body: { ...change, ...wrong } })).status).toBe(422);
  expect((await server.call("GET", `/projects/${other}/git`)).body).toMatchObject({
    host: "builtin",
    has_token: false,
  });
  // A token is taken away also where nothing can be seen without it.
  const without = await server.call("PATCH", `/projects/${project}/git`, { body: { token: null } });
  expect([without.status, without.body.has_token]).toEqual([200, false]);
  expect((await server.call("PATCH", `/projects/${project}/git`, { body: { token: github.token } })).status).toBe(200);
});

test("a sandbox's push reaches GitHub, its credential does not, and GitHub's never reaches the sandbox", async () => {
  const ticket = await createTicket("Count the sheep");
  const { branch, sandbox, git } = await openWork(ticket);
  const commit = await git.commit({ "sheep.txt": "1\n" });
  const pushed = await git.run("push", "origin", `HEAD:${branch}`);
  expect(pushed.code).toBe(0);
  expect(readCommitted(gitDir, branch, "sheep.txt")).toBe("1\n");
  expect([...github.seenCredentials]).toEqual([github.token]);
  expect(await git.must("config", "--list")).not.toContain(github.token);
  const main = await git.run("push", "origin", "HEAD:main");
  expect(main.stderr).toContain("remote: a sandbox may push only to its own branch");
  const { body } = await server.call("GET", `/sandboxes/${sandbox.id}/events?event_type=git.pushed`);
  expect(body.events[0].event_data).toMatchObject({ branch, to_commit: commit });
}, 120_000);

test("a pull request is opened and merged although GitHub fails, limits and thinks", async () => {
  const ticket = await createTicket("Shear the sheep");
  const { branch, git } = await openWork(ticket);
  await git.commit({ "shears.txt": "1\n" });
  await git.must("push", "--quiet", "origin", `HEAD:${branch}`);
  const path = `/repos/${OWNER}/sheep`;
  github.failNext({ status: 502, path }, { status: 429, headers: { "retry-after": "0" }, path });
  const finished = await server.call("POST", "/branch-workflow/finish", { body: { ticket_id: ticket.id } });
  expect(finished.body).toMatchObject({ success: true, pr_url: expect.stringContaining("/pull/") });
  await followPullsOnce(server.deps, signal);
  github.failNext({ status: 503, path });
  expect((await server.call("GET", `/pulls/${finished.body.pull_id}`)).status).toBe(503);
  // An hour is not waited for, by nobody.
  github.failNext({ status: 429, headers: { "retry-after": "3600" }, path });
  const limited = await server.call("POST", "/branch-workflow/finish", { body: { ticket_id: ticket.id } });
  expect([limited.status, limited.headers["retry-after"]]).toEqual([503, "3600"]);
  const merged = await server.call("POST", `/pulls/${finished.body.pull_id}/merge`, { body: {} });
  expect(merged.body).toMatchObject({ state: "merged" });
  expect(readCommitted(gitDir, "main", "shears.txt")).toBe("1\n");
  expect(await getStatus(ticket.id)).toBe("done");
  expect(github.calls).toContain(`DELETE /repos/${OWNER}/sheep/git/refs/${encodeURIComponent(`heads/${branch}`)}`);
}, 120_000);

test("a person's own token goes before the project's", async () => {
  const own = await server.createToken("operator", project);
  const kept = await server.call("PUT", "/auth/github-token", { token: own.token, body: { token: "ghp_mine" } });
  expect(kept.body).toEqual({ has_token: true });
  const body = { project_id: project, title: "x", head_branch: "main" };
  expect((await server.call("POST", "/pulls", { token: own.token, body })).status).toBe(422);
  expect(github.seenCredentials.has("ghp_mine")).toBe(true);
  await server.call("PUT", "/auth/github-token", { token: own.token, body: { token: "ghp_of-the-workflow" } });
  const start = { ticket_id: (await createTicket("Started by a person")).id };
  const refused = await server.call("POST", "/branch-workflow/start", { token: own.token, body: start });
  expect(refused.body.detail).toContain("the token is not valid");
  expect(github.seenCredentials.has("ghp_of-the-workflow")).toBe(true);
  await server.call("PUT", "/auth/github-token", { token: own.token, body: { token: null } });
});

test("a token that no header could carry is refused, and not kept to make GitHub look away", async () => {
  for (const token of ["日本", "two words", "line\nline"]) {
    const own = await server.call("PUT", "/auth/github-token", { body: { token } });
    const shared = await server.call("PATCH", `/projects/${project}/git`, { body: { token } });
    expect([own.status, shared.status]).toEqual([422, 422]);
  }
});

const toPull = (ticketId: string, number: number, more: object) => ({
  action: "closed",
  repository: { name: "Sheep", owner: { login: OWNER } },
  pull_request: {
    number,
    title: `[${ticketId}] From outside`,
    body: null,
    state: "closed",
    html_url: "https://example.org/1",
    merged: false,
    merge_commit_sha: null,
    head: { ref: "x", sha: "0".repeat(40) },
    base: { ref: "main" },
    ...more,
  },
});
const send = async (
  payload: unknown,
  given: { secret?: string; headers?: Record<string, string>; path?: string } = {},
) => {
  const raw = JSON.stringify(payload);
  return server.request("POST", `${API_BASE}${given.path ?? "/github/webhooks"}`, {
    raw,
    headers: {
      "x-github-event": "pull_request",
      "x-github-delivery": randomUUID(),
      "x-hub-signature-256": await sign(given.secret ?? SECRET, raw),
      ...given.headers,
    },
  });
};

describe("a webhook", () => {
  test("that is not signed, or by somebody else, or for nobody's secret, is refused and changes nothing", async () => {
    const ticket = await createTicket("Do not believe it");
    const merged = toPull(ticket.id, 900, { merged: true, merge_commit_sha: "1".repeat(40) });
    expect((await send(merged, { secret: "another secret" })).status).toBe(401);
    expect((await send(merged, { headers: { "x-hub-signature-256": "sha256=00" } })).status).toBe(401);
    expect((await send(merged, { headers: { "x-hub-signature-256": "" } })).status).toBe(401);
    const stranger = { ...merged, repository: { name: "other", owner: { login: "somebody" } } };
    expect((await send(stranger)).status).toBe(403);
    expect((await server.request("POST", `${API_BASE}/github/webhooks`, { raw: "{}" })).status).toBe(401);
    expect(await getStatus(ticket.id)).not.toBe("done");
    expect((await server.call("GET", `/pulls?ticket_id=${ticket.id}`)).body.items).toEqual([]);
  });

  test("of a merged pull request closes its ticket, once, by either address", async () => {
    const ticket = await createTicket("Merged by hand");
    const opened = { ...toPull(ticket.id, 901, { state: "open" }), action: "opened" };
    expect((await send(opened)).body).toEqual({ status: "received" });
    expect(await getStatus(ticket.id)).not.toBe("done");
    const merged = toPull(ticket.id, 901, { merged: true, merge_commit_sha: "1".repeat(40) });
    const headers = { "x-github-delivery": randomUUID() };
    expect((await send(merged, { headers, path: "/github/webhooks/github" })).body).toEqual({ status: "received" });
    expect((await send(merged, { headers })).body).toEqual({ status: "duplicate" });
    // What somebody caught, under a new name: the name is not signed.
    expect((await send(opened)).body).toEqual({ status: "duplicate" });
    expect(await getStatus(ticket.id)).toBe("done");
    const { body } = await server.call("GET", `/pulls?ticket_id=${ticket.id}`);
    expect(body.items).toMatchObject([{ number: 901, state: "merged", merge_commit: "1".repeat(40) }]);
    expect((await send({ zen: "x" }, { headers: { "x-github-event": "ping" } })).status).toBe(403);
  });
});

/** Broken on purpose and seen to fail here: the head is taken by its bare name. */
test("a pull request from somebody's copy is not taken for a branch that is called the same here", async () => {
  const ticket = await createTicket("Sent in by a stranger");
  const { branch, git } = await openWork(ticket);
  await git.commit({ "hay.txt": "1\n" });
  await git.must("push", "--quiet", "origin", `HEAD:${branch}`);
  const toEnd = (owner: string, ref: string) => ({
    ref,
    label: `${owner}:${ref}`,
    repo: { full_name: `${owner}/sheep` },
  });
  const sent = { ...toPull(ticket.id, 902, { state: "open" }), action: "opened" };
  const head = { ...toEnd("stranger", branch), sha: "0".repeat(40) };
  const payload = { ...sent, pull_request: { ...sent.pull_request, head, base: toEnd(OWNER, "main") } };
  expect((await send(payload)).body).toEqual({ status: "received" });
  const { body } = await server.call("GET", `/pulls?ticket_id=${ticket.id}`);
  expect(body.items).toMatchObject([{ number: 902, head_branch: `stranger/sheep:${branch}` }]);
  const merged = { ...payload.pull_request, state: "closed", merged: true, merge_commit_sha: "2".repeat(40) };
  await send({ ...payload, action: "closed", pull_request: merged });
  expect(await getStatus(ticket.id)).toBe("done");
  expect((await server.call("POST", `/pulls/${body.items[0].id}/merge`, { body: {} })).status).toBe(200);
  expect(readCommitted(gitDir, branch, "hay.txt")).toBe("1\n");
}, 120_000);

test("everything that was asked of GitHub is as it publishes", () => {
  expect(github.complaints).toEqual([]);
});
