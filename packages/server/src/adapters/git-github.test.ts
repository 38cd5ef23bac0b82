/** GitHub keeps the port's promises, against a server that pages, thinks, and refuses as GitHub does. */
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ProjectId } from "@drover/contract";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { describeGitHost } from "../../../testkit/src/conformance/git-host.ts";
import { OWNER, startGitHub, type GitHubServer } from "../../../testkit/src/github/github-server.ts";
import type { GitHost, HostedRepository } from "../ports/git-host.ts";
import type { GitObjects } from "../ports/git-objects.ts";
import { openBareRepositories } from "./git-bare.ts";
import { openGitHub } from "./git-github.ts";

const { signal } = new AbortController();
let folder: string;
let github: GitHubServer;
let objects: GitObjects;
let host: GitHost;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "drover-github-"));
  github = await startGitHub(folder);
  github.thinkAbout(2);
  const root = join(folder, "git");
  objects = openBareRepositories(root);
  host = openGitHub({ apiUrl: github.apiUrl, webUrl: github.webUrl, token: github.token, root }, objects);
});
afterAll(async () => {
  await github[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});
afterEach(() => {
  expect(github.complaints).toEqual([]);
});

async function openRepository(): Promise<HostedRepository> {
  const name = `repo-${randomUUID().slice(0, 8)}`;
  await github.createRepository(name);
  return { projectId: `project-${randomUUID()}` as ProjectId, importFrom: null, owner: OWNER, name, token: null };
}

describeGitHost("git-github", async () => {
  const repo = await openRepository();
  return { host, objects, repo, gitDir: join(folder, "git", `${repo.projectId}.git`) };
});

test.for([
  [{ status: 500 }, { code: "git.unavailable" }],
  [{ status: 503 }, { code: "git.unavailable" }],
  [
    { status: 429, headers: { "retry-after": "7" } },
    { code: "git.unavailable", retryAfterSeconds: 7 },
  ],
  [
    { status: 403, headers: { "retry-after": "60" } },
    { code: "git.unavailable", retryAfterSeconds: 60 },
  ],
  [
    { status: 403, headers: { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "1" } },
    { code: "git.unavailable", retryAfterSeconds: 0 },
  ],
  [{ status: 403 }, { code: "git.refused" }],
  [{ status: 401 }, { code: "git.refused" }],
  [{ status: 404 }, { code: "git.refused" }],
] as const)("%j is %j", async ([fault, refusal]) => {
  const repo = await openRepository();
  github.failNext(fault);
  await expect(host.ensureRepository(repo, signal)).rejects.toMatchObject(refusal);
  await host.ensureRepository(repo, signal);
});

test("a wrong token is refused, and stands in no failure", async () => {
  const repo = { ...(await openRepository()), token: "ghp_wrong" };
  const failure = await host.ensureRepository(repo, signal).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "git.refused" });
  expect(JSON.stringify(failure, Object.getOwnPropertyNames(failure))).not.toContain("ghp_wrong");
});
