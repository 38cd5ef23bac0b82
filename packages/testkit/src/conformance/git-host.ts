/** What every `GitHost` must do. */
import type { ProjectId } from "@drover/contract";
import { describe, expect, test } from "vitest";
import type { GitHost, HostedRepository } from "../../../server/src/ports/git-host.ts";
import type { GitObjects } from "../../../server/src/ports/git-objects.ts";
import { commitFiles, readCommitted } from "../git/commit-files.ts";

export interface GitHostUnderTest {
  readonly host: GitHost;
  readonly objects: GitObjects;
  /** A project whose repository at the host has one branch with one commit, or none yet where the host makes them itself. */
  readonly repo: HostedRepository;
  /** The local repository's directory. */
  readonly gitDir: string;
}

const { signal } = new AbortController();

/** `open` gives a fresh repository of the host. */
export function describeGitHost(name: string, open: () => Promise<GitHostUnderTest>): void {
  const start = async () => {
    const given = await open();
    const { defaultBranch } = await given.host.ensureRepository(given.repo, signal);
    const branches = await given.host.listBranches(given.repo, signal);
    const base = branches.find((one) => one.name === defaultBranch)?.commit ?? "";
    const id: ProjectId = given.repo.projectId;
    /** Puts a commit on a branch that is made for it. */
    const work = async (branch: string, files: Record<string, string | Uint8Array | null>, from = base) => {
      const { commit } = await given.host.ensureBranch(given.repo, branch, from, signal);
      const next = commitFiles(given.gitDir, { parents: [commit], files, message: `work on ${branch}` });
      await given.host.ensureAdvanced(given.repo, branch, commit, next, signal);
      return next;
    };
    const openPull = (head: string, title = "A change") =>
      given.host.ensurePullRequest(given.repo, { title, body: "why", head, base: defaultBranch }, signal);
    const merge = (number: number, headCommit: string, method: "squash" | "merge" | "rebase" = "squash") =>
      given.host.ensureMerged(given.repo, number, { method, title: "[t] A change", headCommit }, signal);
    /** Polled, as a caller must: a host may still be finding out. */
    const settle = async (number: number) => {
      const read = () => given.host.loadPullRequest(given.repo, number, signal);
      await expect.poll(async () => (await read())?.isMergeable ?? "unknown", { timeout: 25_000 }).not.toBe("unknown");
      return read();
    };
    return { ...given, defaultBranch, base, id, work, openPull, merge, settle };
  };

  describe(`GitHost: ${name}`, () => {
    test("a repository has a default branch with a commit, and asking again changes nothing", async () => {
      const { host, repo, defaultBranch, base } = await start();
      expect(base).toMatch(/^[0-9a-f]{40}$/);
      expect(await host.ensureRepository(repo, signal)).toEqual({ defaultBranch });
      expect(await host.listBranches(repo, signal)).toEqual([{ name: defaultBranch, commit: base }]);
    });

    test("a branch is made once, also by many at once, and found wherever it points", async () => {
      const { host, repo, base, work } = await start();
      const made = await Promise.all(
        Array.from({ length: 4 }, () => host.ensureBranch(repo, "feature/one", base, signal)),
      );
      expect(new Set(made.map((one) => one.commit))).toEqual(new Set([base]));
      const next = await work("feature/one", { "a.txt": "a\n" });
      expect(await host.ensureBranch(repo, "feature/one", base, signal)).toEqual({ name: "feature/one", commit: next });
    });

    test("all branches are listed, however many", async () => {
      const { host, repo, base } = await start();
      const names = Array.from({ length: 12 }, (_, index) => `feature/n-${index}`);
      for (const one of names) await host.ensureBranch(repo, one, base, signal);
      const listed = await host.listBranches(repo, signal);
      expect(listed.map((one) => one.name)).toEqual(expect.arrayContaining(names));
    });

    test("a branch goes away, twice, and goes on only from where it is", async () => {
      const { host, repo, base, work, gitDir } = await start();
      const first = await work("feature/gone", { "a.txt": "a\n" });
      const other = commitFiles(gitDir, { parents: [base], files: { "b.txt": "b\n" } });
      await expect(host.ensureAdvanced(repo, "feature/gone", base, other, signal)).rejects.toMatchObject({
        code: "git.conflict",
      });
      await host.ensureAdvanced(repo, "feature/gone", base, first, signal);
      await host.ensureBranchGone(repo, "feature/gone", signal);
      await host.ensureBranchGone(repo, "feature/gone", signal);
      expect((await host.listBranches(repo, signal)).map((one) => one.name)).not.toContain("feature/gone");
    });

    test("a pull request is opened once and tells whether it merges", async () => {
      const { work, openPull, settle } = await start();
      const head = await work("feature/pull", { "a.txt": "a\n" });
      const first = await openPull("feature/pull");
      expect(await openPull("feature/pull", "Another title")).toMatchObject({
        number: first.number,
        title: "A change",
      });
      expect(await settle(first.number)).toMatchObject({
        number: first.number,
        state: "open",
        head: "feature/pull",
        headCommit: head,
        isMergeable: true,
        mergeCommit: null,
      });
    });

    test("a squash is one commit on the base, and merging again gives the same one", async () => {
      const { host, repo, id, objects, gitDir, base, defaultBranch, work, openPull, merge, settle } = await start();
      await work("feature/squash", { "a.txt": "a\n" });
      const head = await work("feature/squash", { "b.txt": "b\n" });
      const { number } = await openPull("feature/squash");
      await settle(number);
      const { commit } = await merge(number, head);
      expect(await merge(number, head)).toEqual({ commit });
      await host.ensureRepository(repo, signal);
      expect(await objects.compare(id, base, defaultBranch, signal)).toMatchObject({ aheadBy: 1, behindBy: 0 });
      expect(readCommitted(gitDir, defaultBranch, "a.txt")).toBe("a\n");
      expect(readCommitted(gitDir, defaultBranch, "b.txt")).toBe("b\n");
      expect(await host.loadPullRequest(repo, number, signal)).toMatchObject({ state: "merged", mergeCommit: commit });
    });

    test.for(["merge", "rebase"] as const)("by %s the commits are kept", async (method) => {
      const { host, repo, id, objects, base, defaultBranch, work, openPull, merge, settle } = await start();
      await work(`feature/${method}`, { "a.txt": "a\n" });
      const head = await work(`feature/${method}`, { "b.txt": "b\n" });
      await work("main-goes-on", { "c.txt": "c\n" });
      const other = await openPull("main-goes-on");
      await settle(other.number);
      await merge(other.number, (await settle(other.number))?.headCommit ?? "");
      const { number } = await openPull(`feature/${method}`);
      await settle(number);
      await merge(number, head, method);
      await host.ensureRepository(repo, signal);
      const { aheadBy } = await objects.compare(id, base, defaultBranch, signal);
      expect(aheadBy).toBe(method === "merge" ? 4 : 3);
    });

    test("conflicts are told and never forced", async () => {
      const { host, repo, gitDir, defaultBranch, work, openPull, merge, settle } = await start();
      const ours = await work("feature/ours", { "same.txt": "ours\n" });
      const theirs = await work("feature/theirs", { "same.txt": "theirs\n" });
      const first = await openPull("feature/ours");
      await settle(first.number);
      await merge(first.number, ours);
      const second = await openPull("feature/theirs");
      expect(await settle(second.number)).toMatchObject({ isMergeable: false });
      await expect(merge(second.number, theirs)).rejects.toMatchObject({ code: "git.conflict" });
      await host.ensureRepository(repo, signal);
      expect(readCommitted(gitDir, defaultBranch, "same.txt")).toBe("ours\n");
      expect(await host.loadPullRequest(repo, second.number, signal)).toMatchObject({ state: "open" });
    });

    test("a head that has moved is not merged", async () => {
      const { work, openPull, merge, settle } = await start();
      const seen = await work("feature/moves", { "a.txt": "a\n" });
      const { number } = await openPull("feature/moves");
      await work("feature/moves", { "b.txt": "b\n" });
      await settle(number);
      await expect(merge(number, seen)).rejects.toMatchObject({ code: "git.conflict" });
    });

    test("a closed pull request stays closed, and the next one is another", async () => {
      const { host, repo, work, openPull, merge } = await start();
      const head = await work("feature/closed", { "a.txt": "a\n" });
      const { number } = await openPull("feature/closed");
      await host.ensureClosed(repo, number, signal);
      await host.ensureClosed(repo, number, signal);
      await expect(merge(number, head)).rejects.toMatchObject({ code: "git.conflict" });
      expect((await openPull("feature/closed")).number).not.toBe(number);
    });

    test("the last status of each context counts", async () => {
      const { host, repo, base } = await start();
      const status = { context: "drover/one", description: "runs", url: null } as const;
      await host.ensureStatus(repo, base, { ...status, state: "pending" }, signal);
      await host.ensureStatus(repo, base, { ...status, context: "drover/two", state: "failure" }, signal);
      await host.ensureStatus(repo, base, { ...status, state: "success", description: "done" }, signal);
      await host.ensureStatus(repo, base, { ...status, state: "success", description: "done" }, signal);
      const listed = await host.listStatuses(repo, base, signal);
      expect(listed.toSorted((a, b) => a.context.localeCompare(b.context))).toEqual([
        { ...status, state: "success", description: "done" },
        { ...status, context: "drover/two", state: "failure" },
      ]);
    });

    test("what is not there is not there", async () => {
      const { host, repo } = await start();
      expect(await host.loadPullRequest(repo, 4711, signal)).toBeUndefined();
    });
  });
}
