/** A ticket from its first task to a merged pull request, by itself: five tasks, two of them at once, on the builtin host. */
import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ProjectId, Task } from "@drover/contract";
import { expect, test } from "vitest";
import { openProjectGit } from "../../../server/src/app/project-git.ts";
import { commitFiles } from "../git/commit-files.ts";
import { startTestServer } from "../server.ts";
import { after, listAttempts, loadTask } from "../work.ts";

const FACT_MS = 240_000;
const { signal } = new AbortController();

const PUSH =
  "git add -A && git -c user.name=agent -c user.email=agent@example.org commit -q -m work && git push -q origin HEAD";

/** What an agent does: writes a file, and pushes it when the tests say so. */
const script = (path: string, content: string, more: readonly unknown[] = []) => ({
  execution_config: {
    runtime: "scripted",
    resources: { memory_gb: 0.5 },
    script: { steps: [{ edit: { path, content } }, ...more, { command: { argv: ["sh", "-c", PUSH] } }] },
  },
});

const TESTS = `import assert from "node:assert";
import { left } from "./left.mjs";
import { right } from "./right.mjs";
import { total } from "./total.mjs";
assert.deepEqual([left, right, total], [11, 12, 23]);
`;

test(
  "five tasks run by themselves, their branches are merged, and the tests pass on main",
  { timeout: 600_000 },
  async () => {
    await using server = await startTestServer({ config: { heartbeatIntervalSeconds: 5 } });
    const project = await server.call("POST", "/projects", {
      body: { name: "herd", autonomous_execution_enabled: true, settings: { provider: "local" } },
    });
    const projectId = project.body.id as ProjectId;
    const git = await openProjectGit(server.deps, projectId);
    await git.host.ensureRepository(git.repo, signal);
    const gitDir = join(server.dataDir, "git", `${projectId}.git`);
    const first = (await server.deps.git.objects.resolve(projectId, "refs/heads/main", signal)) ?? "";
    const laid = commitFiles(gitDir, { parents: [first], files: { "test.mjs": TESTS }, message: "tests first" });
    await git.host.ensureAdvanced(git.repo, "main", first, laid, signal);

    const ticket = await server.call("POST", "/tickets", { body: { title: "Count the sheep", project_id: projectId } });
    const ticketId: string = ticket.body.id;
    const add = async (title: string, more: Readonly<Record<string, unknown>>): Promise<Task> =>
      (await server.call("POST", "/tasks", { body: { ticket_id: ticketId, title, ...more } })).body;
    const wait = [{ wait_for_message: { seconds: 600 } }];
    const ground = await add("ground", script("ground.mjs", "export const ground = 10;\n"));
    const side = (name: string, n: number) =>
      script(`${name}.mjs`, `import { ground } from "./ground.mjs";\nexport const ${name} = ground + ${n};\n`, wait);
    const left = await add("left", { ...side("left", 1), ...after(ground) });
    const right = await add("right", { ...side("right", 2), ...after(ground) });
    const sum = `import { left } from "./left.mjs";\nimport { right } from "./right.mjs";\nexport const total = left + right;\n`;
    const joined = await add("join", { ...script("total.mjs", sum), ...after(left, right) });
    const check = [{ command: { argv: ["node", "test.mjs"] } }];
    const last = await add("check", { ...script("CHECKED.md", "checked\n", check), ...after(joined) });

    // Both are at work before either may end.
    const statuses = async () => [(await loadTask(server, left.id)).status, (await loadTask(server, right.id)).status];
    await expect.poll(statuses, { timeout: FACT_MS, interval: 200 }).toEqual(["running", "running"]);
    for (const { id } of [left, right]) {
      const { sandbox_id } = await loadTask(server, id);
      await server.call("POST", `/sandboxes/${sandbox_id}/messages`, { body: { content: "go on" } });
    }
    const ticketStatus = async () => {
      const { body } = await server.call("GET", `/tickets/${ticketId}`);
      return body.is_blocked ? JSON.stringify(body.context) : body.status;
    };
    await expect.poll(ticketStatus, { timeout: FACT_MS, interval: 200 }).toBe("done");

    for (const { id } of [ground, left, right, joined, last]) {
      expect(await loadTask(server, id)).toMatchObject({ status: "completed", retry_count: 0 });
      expect(await listAttempts(server, id)).toHaveLength(1);
    }
    const { body: merges } = await server.call("GET", `/merge-attempts?ticket_id=${ticketId}`);
    const merged = merges.items.flatMap((one: { merge_order: readonly string[] }) => one.merge_order);
    expect(merged.toSorted()).toEqual([String(left.id), String(right.id)].toSorted());
    const { body: pulls } = await server.call("GET", `/pulls?ticket_id=${ticketId}`);
    expect(pulls.items).toMatchObject([{ state: "merged", ticket_id: ticketId }]);

    const clone = await mkdtemp(join(tmpdir(), "drover-main-"));
    try {
      execFileSync("git", ["clone", "--quiet", "--branch", "main", gitDir, clone], { stdio: "ignore" });
      execFileSync(process.execPath, ["test.mjs"], { cwd: clone });
    } finally {
      await rm(clone, { recursive: true, force: true });
    }
  },
);
