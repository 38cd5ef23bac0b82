/** A ticket of five tasks, two of them at once: laid out for whatever agent plays it, and what must be true when it is done. */
import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { MergeAttempt, ProjectId, Task } from "@drover/contract";
import { expect } from "vitest";
import { openProjectGit } from "../../server/src/app/project-git.ts";
import { commitFiles } from "./git/commit-files.ts";
import type { TestServer } from "./server.ts";
import { after } from "./work.ts";

export type PartName = "ground" | "left" | "right" | "join" | "check";

export interface Part {
  readonly name: PartName;
  /** What the agent writes. */
  readonly path: string;
  readonly content: string;
  readonly after: readonly PartName[];
}

const toSide = (name: "left" | "right", n: number): Part => ({
  name,
  path: `${name}.mjs`,
  content: `import { ground } from "./ground.mjs";\nexport const ${name} = ground + ${n};\n`,
  after: ["ground"],
});

export const PARTS: readonly Part[] = [
  { name: "ground", path: "ground.mjs", content: "export const ground = 10;\n", after: [] },
  toSide("left", 1),
  toSide("right", 2),
  {
    name: "join",
    path: "total.mjs",
    content: `import { left } from "./left.mjs";\nimport { right } from "./right.mjs";\nexport const total = left + right;\n`,
    after: ["left", "right"],
  },
  { name: "check", path: "CHECKED.md", content: "checked\n", after: ["join"] },
];

const TESTS = `import assert from "node:assert";
import { left } from "./left.mjs";
import { right } from "./right.mjs";
import { total } from "./total.mjs";
assert.deepEqual([left, right, total], [11, 12, 23]);
`;

export interface CountingTicket {
  readonly id: string;
  readonly gitDir: string;
  readonly tasks: Readonly<Record<PartName, Task>>;
}

/** Where the repository is, before the first task of a project begins. */
export type Connect = (projectId: ProjectId) => Promise<string>;

/** The tests stand on main before anything else does. */
export function layTests(gitDir: string): void {
  const git = (...args: readonly string[]) =>
    execFileSync("git", ["--git-dir", gitDir, ...args], { encoding: "utf8" }).trim();
  const first = git("rev-parse", "refs/heads/main");
  const laid = commitFiles(gitDir, { parents: [first], files: { "test.mjs": TESTS }, message: "tests first" });
  git("update-ref", "refs/heads/main", laid, first);
}

const toBuiltin =
  (server: TestServer): Connect =>
  async (projectId) => {
    const git = await openProjectGit(server.deps, projectId);
    await git.host.ensureRepository(git.repo, new AbortController().signal);
    const gitDir = join(server.dataDir, "git", `${projectId}.git`);
    layTests(gitDir);
    return gitDir;
  };

/** `toConfig` says how each task is run, `settings` what else the project has. */
export async function layTicket(
  server: TestServer,
  toConfig: (part: Part) => Readonly<Record<string, unknown>>,
  given: { readonly connect?: Connect; readonly settings?: Readonly<Record<string, unknown>> } = {},
): Promise<CountingTicket> {
  const project = await server.call("POST", "/projects", {
    body: { name: "herd", autonomous_execution_enabled: true, settings: { provider: "local", ...given.settings } },
  });
  const gitDir = await (given.connect ?? toBuiltin(server))(project.body.id as ProjectId);
  const ticket = await server.call("POST", "/tickets", {
    body: { title: "Count the sheep", project_id: project.body.id },
  });
  const id: string = ticket.body.id;
  const tasks: Partial<Record<PartName, Task>> = {};
  for (const part of PARTS) {
    const before = part.after.flatMap((name) => tasks[name] ?? []);
    const body = { ticket_id: id, title: part.name, execution_config: toConfig(part), ...after(...before) };
    const made = await server.call("POST", "/tasks", { body });
    if (made.status !== 201) throw new Error(`create a task: ${made.status} ${made.text}`);
    tasks[part.name] = made.body;
  }
  return { id, gitDir, tasks: tasks as CountingTicket["tasks"] };
}

/** `done`, or another state, or why the ticket is blocked. */
export async function readTicketStatus(server: TestServer, { id }: CountingTicket): Promise<string> {
  const { body } = await server.call("GET", `/tickets/${id}`);
  return body.is_blocked ? JSON.stringify(body.context) : body.status;
}

export const listMerges = async (server: TestServer, { id }: CountingTicket): Promise<readonly MergeAttempt[]> =>
  (await server.call("GET", `/merge-attempts?ticket_id=${id}`)).body.items;

/** Every merge was one with the fewest conflicts of those that were left. */
export function expectLeastFirst(merges: readonly MergeAttempt[]): void {
  for (const { scores, merged } of merges.flatMap(({ rounds }) => rounds)) {
    const least = Math.min(...Object.values(scores).map(({ count }) => count ?? Infinity));
    expect(merged === null ? least > 0 : scores[merged]?.count === least).toBe(true);
  }
}

/** The pull request was merged, and the repository's own tests pass on main. */
export async function expectDelivered(server: TestServer, { id, gitDir }: CountingTicket): Promise<void> {
  const { body: pulls } = await server.call("GET", `/pulls?ticket_id=${id}`);
  expect(pulls.items).toMatchObject([{ state: "merged", ticket_id: id }]);

  const clone = await mkdtemp(join(tmpdir(), "drover-main-"));
  try {
    execFileSync("git", ["clone", "--quiet", "--branch", "main", gitDir, clone], { stdio: "ignore" });
    execFileSync(process.execPath, ["test.mjs"], { cwd: clone });
  } finally {
    await rm(clone, { recursive: true, force: true });
  }
}

/** Both sides were merged as they were. */
export async function expectBothMerged(server: TestServer, ticket: CountingTicket): Promise<void> {
  const merged = (await listMerges(server, ticket)).flatMap(({ merge_order }) => merge_order);
  expect(merged.toSorted()).toEqual([String(ticket.tasks.left.id), String(ticket.tasks.right.id)].toSorted());
}
