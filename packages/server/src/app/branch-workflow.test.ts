/** A ticket's branch from its start to a merged pull request, on the builtin host. */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { ProjectId } from "@drover/contract";
import fc from "fast-check";
import { describe, expect } from "vitest";
import { commitFiles, readCommitted } from "../../../testkit/src/git/commit-files.ts";
import { test as base, type TestServer } from "../../../testkit/src/server.ts";
import { ensureTaskBranch, ensureTicketBranch, type TicketWork } from "./branch-workflow.ts";
import { convergeTicket } from "./converge-ticket.ts";
import { openProjectGit } from "./project-git.ts";
import { sql } from "../store/sql.ts";
import { deliverTicketsOnce } from "./deliver-ticket.ts";
import { ensurePullRequest, mergePullRequest, recordPullEnd } from "./pull-requests.ts";

const { signal } = new AbortController();

/** A project with a file to quarrel about, and hands to work in it. */
async function openYard(server: TestServer) {
  const project_id: ProjectId = await server.createProject();
  const git = await openProjectGit(server.deps, project_id);
  await git.host.ensureRepository(git.repo, signal);
  const gitDir = join(server.dataDir, "git", `${project_id}.git`);
  const tip = async (branch: string) =>
    (await server.deps.git.objects.resolve(project_id, `refs/heads/${branch}`, signal)) ?? "";
  const put = async (branch: string, files: Record<string, string | Uint8Array | null>) => {
    const from = await tip(branch);
    const commit = commitFiles(gitDir, { parents: [from], files, message: `work on ${branch}` });
    await git.host.ensureAdvanced(git.repo, branch, from, commit, signal);
    return commit;
  };
  await put("main", { "a.txt": "1\n2\n3\n", "picture.bin": Buffer.from([0, 1]) });
  const ticket = (title = "Count the sheep"): TicketWork => ({ id: randomUUID(), project_id, title });
  const branches = async () => (await git.host.listBranches(git.repo, signal)).map((one) => one.name);
  return {
    project_id,
    git,
    gitDir,
    tip,
    put,
    ticket,
    branches,
    read: (branch: string, path: string) => readCommitted(gitDir, branch, path),
  };
}

const test = base.extend<{ $test: { yard: Awaited<ReturnType<typeof openYard>> } }>({
  yard: async ({ server }, use) => use(await openYard(server)),
});

describe("branches", () => {
  test("a ticket has one, whoever asks and however many at once; a task that runs beside others has its own", async ({
    server: { deps },
    yard,
  }) => {
    const ticket = yard.ticket();
    const made = await Promise.all(Array.from({ length: 4 }, () => ensureTicketBranch(deps, ticket, signal)));
    expect(new Set(made.map((one) => one.name))).toEqual(new Set([`feature/${ticket.id}-count-the-sheep`]));
    const renamed = await ensureTicketBranch(deps, { ...ticket, title: "Another title", ticket_type: "bug" }, signal);
    expect(renamed).toEqual(made[0]);
    const alone = await ensureTaskBranch(deps, { id: randomUUID(), ticket, is_parallel: false }, signal);
    expect(alone.name).toBe(renamed.name);
    const id = randomUUID();
    const beside = await ensureTaskBranch(deps, { id, ticket, is_parallel: true }, signal);
    expect(beside).toMatchObject({ name: `${renamed.name}--${id.slice(0, 8)}`, base: renamed.name });
    const work = await yard.put(beside.name, { "b.txt": "b\n" });
    expect(await ensureTaskBranch(deps, { id, ticket, is_parallel: false }, signal)).toMatchObject({
      name: beside.name,
      commit: work,
    });
  });

  test("a name that somebody else has taken gets a number", async ({ server: { deps }, yard }) => {
    const ticket = yard.ticket();
    const name = `feature/${ticket.id}-count-the-sheep`;
    await yard.git.host.ensureBranch(yard.git.repo, name, await yard.tip("main"), signal);
    expect((await ensureTicketBranch(deps, ticket, signal)).name).toBe(`${name}-2`);
  });
});

test("the default branch is the one that the project names", async ({ server, yard }) => {
  await yard.git.host.ensureBranch(yard.git.repo, "develop", await yard.tip("main"), signal);
  const base = await yard.put("develop", { "only-there.txt": "1\n" });
  const body = { settings: { default_branch: "develop" } };
  expect((await server.call("PATCH", `/projects/${yard.project_id}`, { body })).status).toBe(200);
  const ticket = yard.ticket();
  const branch = await ensureTicketBranch(server.deps, ticket, signal);
  expect(branch).toMatchObject({ commit: base, base: "develop" });
  await yard.put(branch.name, { "b.txt": "b\n" });
  const pull = await ensurePullRequest(server.deps, ticket, {}, signal);
  expect(pull?.base_branch).toBe("develop");
  await mergePullRequest(server.deps, null, pull?.id ?? ("" as never), {}, signal);
  expect([yard.read("develop", "b.txt"), yard.read("main", "b.txt")]).toEqual(["b\n", undefined]);
  await server.call("PATCH", `/projects/${yard.project_id}`, { body: { settings: { default_branch: "nowhere" } } });
  const lost = ensureTicketBranch(server.deps, yard.ticket(), signal);
  await expect(lost).rejects.toMatchObject({ code: "branch.not_found" });
});

test("a number that no pull request can have is refused as such", async ({ server }) => {
  const made = await server.call("POST", "/tickets", { body: { title: "a number", force_create: true } });
  const ask = (pr_number: number) =>
    server.call("POST", "/branch-workflow/merge", {
      body: { ticket_id: made.body.id, ticket_title: "a number", pr_number },
    });
  for (const [number, status] of [
    [2 ** 31, 422],
    [Number.MAX_SAFE_INTEGER, 422],
    [2 ** 31 - 1, 404],
  ] as const)
    expect([number, (await ask(number)).status]).toEqual([number, status]);
});

describe("a pull request", () => {
  test("is asked for once there is something, shown with its diff, merged by squash, and its branches go", async ({
    server,
    yard,
  }) => {
    const { deps } = server;
    const ticket = yard.ticket();
    const branch = await ensureTicketBranch(deps, ticket, signal);
    expect(await ensurePullRequest(deps, ticket, {}, signal)).toBeNull();
    await yard.put(branch.name, { "a.txt": "1\ntwo\n3\n", "new.txt": "n\n" });
    const pull = await ensurePullRequest(deps, ticket, {}, signal);
    expect(await ensurePullRequest(deps, ticket, {}, signal)).toEqual(pull);
    expect(pull).toMatchObject({ title: `[${ticket.id}] Count the sheep`, number: 1, state: "open" });
    const shown = await server.call("GET", `/pulls/${pull?.id}`);
    expect(shown.body).toMatchObject({
      mergeable: true,
      conflicts: [],
      commits: [{ subject: `work on ${branch.name}` }],
      files: [
        { path: "a.txt", change_type: "modified", lines_added: 1, lines_removed: 1 },
        { path: "new.txt", change_type: "created" },
      ],
    });
    expect(shown.body.diff).toContain("+two");
    const merged = await server.call("POST", `/pulls/${pull?.id}/merge`, { body: {} });
    expect(merged.body).toMatchObject({ state: "merged", ticket_id: ticket.id });
    expect((await server.call("POST", `/pulls/${pull?.id}/merge`, { body: {} })).body).toEqual(merged.body);
    expect(yard.read("main", "a.txt")).toBe("1\ntwo\n3\n");
    expect(await yard.branches()).toEqual(["main"]);
    expect((await server.call("GET", `/pulls/${pull?.id}`)).body).toMatchObject({
      state: "merged",
      files: [{ path: "a.txt" }, { path: "new.txt" }],
    });
    expect((await server.call("GET", `/pulls?ticket_id=${ticket.id}`)).body.items).toHaveLength(1);
    const told = await server.call("GET", `/events?event_type=PR_OPENED&event_type=PR_MERGED`);
    const mine = (told.body.events as { event_type: string; event_data: { ticket_id: string } }[]).filter(
      (one) => one.event_data.ticket_id === ticket.id,
    );
    expect(mine.map((one) => one.event_type).toSorted()).toEqual(["PR_MERGED", "PR_OPENED"]);
  });

  test("with conflicts is refused, its branch kept, and goes through once they are resolved there", async ({
    server,
    yard,
  }) => {
    const ticket = yard.ticket();
    const branch = await ensureTicketBranch(server.deps, ticket, signal);
    await yard.put(branch.name, { "a.txt": "one\n2\n3\n" });
    await yard.put("main", { "a.txt": "eins\n2\n3\n" });
    const pull = await ensurePullRequest(server.deps, ticket, {}, signal);
    const refused = await server.call("POST", `/pulls/${pull?.id}/merge`, { body: {} });
    expect(refused.status).toBe(409);
    expect(refused.body.detail).toContain("a.txt");
    expect((await server.call("GET", `/pulls/${pull?.id}`)).body).toMatchObject({
      mergeable: false,
      conflicts: [{ path: "a.txt", kind: "contents" }],
    });
    const status = await server.call("POST", "/branch-workflow/status", {
      body: { project_id: yard.project_id, branch_name: branch.name },
    });
    expect(status.body).toMatchObject({ status: "diverged", ahead_by: 1, behind_by: 1, has_conflicts: true });
    const parents = [await yard.tip(branch.name), await yard.tip("main")];
    const resolved = commitFiles(yard.gitDir, { parents, files: { "a.txt": "one or eins\n2\n3\n" } });
    await yard.git.host.ensureAdvanced(yard.git.repo, branch.name, parents[0] ?? "", resolved, signal);
    expect((await mergePullRequest(server.deps, null, pull?.id ?? ("" as never), {}, signal)).state).toBe("merged");
    expect(yard.read("main", "a.txt")).toBe("one or eins\n2\n3\n");
  });

  test("is closed by a person and stays so; the branch is kept", async ({ server, yard }) => {
    const ticket = yard.ticket();
    const branch = await ensureTicketBranch(server.deps, ticket, signal);
    await yard.put(branch.name, { "b.txt": "b\n" });
    const pull = await ensurePullRequest(server.deps, ticket, {}, signal);
    expect((await server.call("POST", `/pulls/${pull?.id}/close`)).body.state).toBe("closed");
    expect((await server.call("POST", `/pulls/${pull?.id}/close`)).body.state).toBe("closed");
    expect((await server.call("POST", `/pulls/${pull?.id}/merge`, { body: {} })).status).toBe(409);
    expect(await yard.branches()).toContain(branch.name);
  });

  test("is not opened again by Drover itself once a person has closed it, unless there is something new", async ({
    server: { deps, call },
    yard,
  }) => {
    const ticket = yard.ticket();
    const branch = await ensureTicketBranch(deps, ticket, signal);
    await yard.put(branch.name, { "c.txt": "c\n" });
    const pull = await ensurePullRequest(deps, ticket, {}, signal);
    await call("POST", `/pulls/${pull?.id}/close`);
    await expect(ensurePullRequest(deps, ticket, {}, signal)).rejects.toMatchObject({ code: "git.refused" });
    await yard.put(branch.name, { "c.txt": "better\n" });
    expect(await ensurePullRequest(deps, ticket, {}, signal)).toMatchObject({ state: "open", number: 2 });
  });

  test("and another are merged at the same moment, and both are in", async ({ server: { deps }, yard }) => {
    const pulls = [];
    for (const name of ["d", "e", "f"]) {
      const ticket = yard.ticket();
      const branch = await ensureTicketBranch(deps, ticket, signal);
      await yard.put(branch.name, { [`${name}.txt`]: `${name}\n` });
      pulls.push(await ensurePullRequest(deps, ticket, {}, signal));
    }
    await Promise.all(pulls.map((pull) => mergePullRequest(deps, null, pull?.id ?? ("" as never), {}, signal)));
    for (const name of ["d", "e", "f"]) expect(yard.read("main", `${name}.txt`)).toBe(`${name}\n`);
  });

  test("names a ticket of its own project only, which its merge would close", async ({ server, yard }) => {
    const foreign = await server.call("POST", "/tickets", {
      body: { title: "of another project", project_id: await server.createProject() },
    });
    await yard.put("main", { "g.txt": "g\n" });
    const { name } = await ensureTicketBranch(server.deps, yard.ticket(), signal);
    await yard.put(name, { "g.txt": "G\n" });
    const { token } = await server.createToken("operator", yard.project_id);
    const body = { project_id: yard.project_id, title: "x", head_branch: name, ticket_id: foreign.body.id };
    expect((await server.call("POST", "/pulls", { token, body })).status).toBe(404);
  });

  test("whose merge was seen by nobody closes its ticket all the same", async ({ server, yard }) => {
    const { deps } = server;
    const { body: ticket } = await server.call("POST", "/tickets", {
      body: { title: "merged by somebody who died", project_id: yard.project_id },
    });
    const branch = await ensureTicketBranch(deps, ticket, signal);
    await yard.put(branch.name, { "h.txt": "h\n" });
    const pull = await ensurePullRequest(deps, ticket, {}, signal);
    const task = await server.call("POST", "/tasks", { body: { ticket_id: ticket.id, title: "done" } });
    await server.db.query(sql`update tasks set status = 'completed' where id = ${task.body.id}`);
    await server.db.query(sql`update tickets set status = 'testing' where id = ${ticket.id}`);
    const [head_commit, merge_commit] = [await yard.tip(branch.name), await yard.tip("main")];
    const end = { state: "merged", head_commit, merge_commit } as const;
    await recordPullEnd(deps, yard.git, pull?.id ?? ("" as never), end, null);
    await deliverTicketsOnce(deps, signal);
    expect((await server.call("GET", `/tickets/${ticket.id}`)).body.status).toBe("done");
  });

  test("goes the whole way by the endpoints of the workflow", async ({ server, yard }) => {
    const { project_id } = yard;
    const ticket_id = randomUUID();
    const named = { ticket_id, project_id };
    const start = { ...named, ticket_title: "Crash", ticket_type: "bug", priority: "critical" };
    const headers = { "idempotency-key": ticket_id };
    const started = await server.call("POST", "/branch-workflow/start", { body: start, headers });
    expect(started.body).toMatchObject({ success: true, branch_name: `hotfix/${ticket_id}-crash` });
    expect((await server.call("POST", "/branch-workflow/start", { body: start, headers })).body).toEqual(started.body);
    const other = { ...start, ticket_title: "Other" };
    expect((await server.call("POST", "/branch-workflow/start", { body: other, headers })).status).toBe(422);
    expect((await server.call("POST", "/branch-workflow/finish", { body: named })).status).toBe(422);
    await yard.put(started.body.branch_name, { "b.txt": "b\n" });
    const finished = await server.call("POST", "/branch-workflow/finish", { body: named });
    expect(finished.body).toMatchObject({ success: true, pr_number: 1, pr_url: null });
    const merged = await server.call("POST", "/branch-workflow/merge", { body: { ...named, pr_number: 1 } });
    expect(merged.body).toEqual({ success: true, merge_sha: await yard.tip("main"), has_conflicts: false });
    // Who is named in a body has no say, and what is said of a ticket of ours names its branch.
    const { body: ours } = await server.call("POST", "/tickets", { body: { title: "Slow", project_id } });
    const claims = { repo_owner: "o", repo_name: "r", user_id: "somebody" };
    const body = { ticket_id: ours.id, ticket_title: "Slow", ticket_type: "bug", priority: "critical", ...claims };
    const known = await server.call("POST", "/branch-workflow/start", { body });
    expect(known.body).toMatchObject({ success: true, branch_name: `hotfix/${ours.id}-slow` });
    const compared = { project_id, branch_name: known.body.branch_name, ...claims };
    expect((await server.call("POST", "/branch-workflow/status", { body: compared })).body.status).toBe("identical");
    const gone = { project_id, branch_name: started.body.branch_name };
    expect((await server.call("POST", "/branch-workflow/status", { body: gone })).status).toBe(404);
  });
});

describe("convergence", () => {
  const parallel = async (
    server: TestServer,
    ticket: TicketWork,
    yard: Awaited<ReturnType<typeof openYard>>,
    all: Record<string, string | Uint8Array | null>[],
  ) => {
    const ids: string[] = [];
    for (const files of all) {
      const id = randomUUID();
      const branch = await ensureTaskBranch(server.deps, { id, ticket, is_parallel: true }, signal);
      await yard.put(branch.name, files);
      ids.push(id);
    }
    return ids;
  };

  test("clean branches are merged in their order, with two parents each, and again is no change", async ({
    server,
    yard,
  }) => {
    const ticket = yard.ticket();
    const ids = await parallel(server, ticket, yard, [
      { "b.txt": "b\n" },
      { "c.txt": "c\n" },
      { "a.txt": "1\n2\nthree\n" },
    ]);
    const wish = { task_id: null, sources: ids };
    const first = await convergeTicket(server.deps, ticket, wish, signal);
    expect(first).toMatchObject({ status: "completed", merged: ids, conflicts: [] });
    const { name, commit } = await ensureTicketBranch(server.deps, ticket, signal);
    expect([yard.read(name, "b.txt"), yard.read(name, "c.txt")]).toEqual(["b\n", "c\n"]);
    expect(await convergeTicket(server.deps, ticket, wish, signal)).toMatchObject({ status: "completed", merged: [] });
    expect((await ensureTicketBranch(server.deps, ticket, signal)).commit).toBe(commit);
    const { body } = await server.call("GET", `/merge-attempts?ticket_id=${ticket.id}`);
    expect(body.items).toMatchObject([
      { status: "completed", merge_order: [] },
      { status: "completed", merge_order: ids, total_conflicts: 0 },
    ]);
    expect(body.items[1].rounds).toHaveLength(3);
  });

  test("a conflict stops it with a cause and keeps what was merged; resolved by hand it goes on", async ({
    server,
    yard,
  }) => {
    const ticket = yard.ticket();
    const quarrel = [
      { "a.txt": "one\n2\n3\n", "x.txt": "1\n" },
      { "c.txt": "c\n" },
      { "a.txt": "eins\n2\n3\n", "x.txt": "2\n" },
    ];
    const ids = await parallel(server, ticket, yard, quarrel);
    const wish = { task_id: null, sources: ids };
    const stopped = await convergeTicket(server.deps, ticket, wish, signal);
    expect(stopped).toMatchObject({
      status: "conflict",
      merged: [ids[0], ids[1]],
      conflicts: [{ task_id: ids[2], files: [{ path: "a.txt", kind: "contents" }, { path: "x.txt" }] }],
    });
    expect(stopped.cause).toContain("a.txt, x.txt");
    const branch = await ensureTicketBranch(server.deps, ticket, signal);
    const theirs = await yard.tip(stopped.conflicts[0]?.branch ?? "");
    const files = { "a.txt": "one or eins\n2\n3\n", "x.txt": "3\n" };
    const resolved = commitFiles(yard.gitDir, { parents: [branch.commit, theirs], files });
    await yard.git.host.ensureAdvanced(yard.git.repo, branch.name, branch.commit, resolved, signal);
    expect(await convergeTicket(server.deps, ticket, wish, signal)).toMatchObject({ status: "completed", merged: [] });
  });

  test("conflicts of binary files are for a person", async ({ server, yard }) => {
    const ticket = yard.ticket();
    const picture = (byte: number) => ({ "picture.bin": Buffer.from([0, byte]) });
    const ids = await parallel(server, ticket, yard, [picture(2), picture(3)]);
    expect(await convergeTicket(server.deps, ticket, { task_id: null, sources: ids }, signal)).toMatchObject({
      status: "manual",
      merged: [ids[0]],
      conflicts: [{ task_id: ids[1], files: [{ path: "picture.bin", kind: "binary" }] }],
    });
  });

  test("on random repositories each merge is one with the fewest conflicts of its round, and nothing is lost", async ({
    server,
    yard,
  }) => {
    const edit = fc.record({ file: fc.nat(3), line: fc.nat(2) });
    const repositories = fc.sample(
      fc.array(fc.array(edit, { minLength: 1, maxLength: 3 }), { minLength: 3, maxLength: 4 }),
      { seed: 42, numRuns: 3 },
    );
    const start = Object.fromEntries([0, 1, 2, 3].map((file) => [`f${file}.txt`, "0\n0\n0\n"]));
    await yard.put("main", start);
    for (const branches of repositories) {
      const ticket = yard.ticket();
      const works = branches.map((edits, who) =>
        Object.fromEntries(
          edits.map(({ file, line }) => [
            `f${file}.txt`,
            [0, 1, 2].map((at) => (at === line ? `${who + 1}\n` : "0\n")).join(""),
          ]),
        ),
      );
      const sources = await parallel(server, ticket, yard, works);
      const { status, merged, conflicts } = await convergeTicket(
        server.deps,
        ticket,
        { task_id: null, sources },
        signal,
      );
      const { body } = await server.call("GET", `/merge-attempts?ticket_id=${ticket.id}`);
      for (const { scores, merged: chosen } of body.items[0].rounds as {
        scores: Record<string, { count: number }>;
        merged: string | null;
      }[]) {
        const least = Math.min(...Object.values(scores).map((one) => one.count));
        expect(chosen === null ? least > 0 : scores[chosen]?.count === least && least === 0).toBe(true);
      }
      expect([...merged, ...conflicts.map((one) => one.task_id)].toSorted()).toEqual(sources.toSorted());
      expect(status).toBe(conflicts.length === 0 ? "completed" : "conflict");
    }
  }, 120_000);
});
