/** Looks whether work is done: at the repository and at exit codes, never at what the agent says. */
import type { ContinuousOptions, Evidence } from "@drover/contract";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { runCommand } from "./command.ts";
import type { Git } from "./git.ts";

const TEST_LIMIT_MS = 15 * 60 * 1_000;
const TAIL_CHARACTERS = 4_000;

export interface EvidenceParts {
  readonly git: Git;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly options: ContinuousOptions;
  readonly require: readonly Evidence[];
}

export interface Finding {
  readonly passed: boolean;
  /** One sentence for each thing that is missing. */
  readonly errors: readonly string[];
  readonly is_clean: boolean | null;
  readonly is_pushed: boolean | null;
  readonly has_commits: boolean | null;
  readonly tests_passed: boolean | null;
  readonly branch_name: string | null;
  readonly files_changed: number;
}

const Package = z.looseObject({ scripts: z.looseObject({ test: z.string().optional() }).optional() });

/** A repository that says itself how it is tested needs no setting. */
async function findTests(cwd: string): Promise<readonly string[] | undefined> {
  const text = await readFile(join(cwd, "package.json"), "utf8").catch(() => "{}");
  try {
    return Package.parse(JSON.parse(text)).scripts?.test === undefined ? undefined : ["npm", "test", "--silent"];
  } catch {
    // Expected: a package.json that is none.
    return undefined;
  }
}

async function runTests({ cwd, env, options }: EvidenceParts, signal: AbortSignal): Promise<string | undefined> {
  const argv = options.test_command ?? (await findTests(cwd));
  if (argv === undefined) return "There are no tests to run: set test_command, or a test script in package.json.";
  let tail = "";
  const run = runCommand({ argv, cwd, env }, AbortSignal.any([signal, AbortSignal.timeout(TEST_LIMIT_MS)]));
  for (let next = await run.next(); ; next = await run.next()) {
    if (next.done !== true) tail = (tail + next.value.text).slice(-TAIL_CHARACTERS);
    else if (next.value.code === 0) return undefined;
    else
      return `The tests fail (${argv.join(" ")} ended with ${next.value.code ?? next.value.signal ?? next.value.error}):\n${tail}`;
  }
}

/** Where the repository stands; undefined when there is none, or no commit. */
export const loadHead = ({ git, cwd }: Pick<EvidenceParts, "git" | "cwd">): Promise<string | undefined> =>
  git({ args: ["rev-parse", "--verify", "--quiet", "HEAD"], cwd }).then(
    (bytes) => bytes.toString("utf8").trim(),
    () => undefined, // no repository, or one without a commit
  );

export async function lookForEvidence(
  parts: EvidenceParts,
  startHead: string | undefined,
  signal: AbortSignal,
): Promise<Finding> {
  const { git, cwd, require } = parts;
  const ask = (...args: string[]) =>
    git({ args, cwd }).then(
      (bytes) => bytes.toString("utf8"),
      () => undefined, // there is no answer: what was asked for is not so
    );
  const needs = (one: Evidence) => require.includes(one);
  const head = await loadHead(parts);
  const status = needs("clean") ? await ask("status", "--porcelain=v1", "-z", "--untracked-files=all") : undefined;
  const branch = (await ask("symbolic-ref", "--quiet", "--short", "HEAD"))?.trim() ?? null;
  const remote =
    needs("pushed") && branch !== null ? await ask("ls-remote", "origin", `refs/heads/${branch}`) : undefined;
  const between = startHead === undefined ? (head ?? "HEAD") : `${startHead}..${head ?? "HEAD"}`;
  const changed =
    startHead === undefined || head === undefined ? undefined : await ask("diff", "--name-only", "-z", between);
  const has = {
    clean: status === "",
    committed: head !== undefined && head !== startHead,
    pushed: head !== undefined && remote?.split("\t")[0] === head,
  };
  const failure = needs("tests") ? await runTests(parts, signal) : undefined;
  const errors = [
    ...(needs("clean") && !has.clean ? ["There are changes that are not committed."] : []),
    ...(needs("committed") && !has.committed ? ["Nothing has been committed since the start."] : []),
    ...(needs("pushed") && !has.pushed ? ["The branch at origin is not what is here: push it."] : []),
    ...(failure === undefined ? [] : [failure]),
  ];
  return {
    passed: errors.length === 0,
    errors,
    is_clean: needs("clean") ? has.clean : null,
    has_commits: needs("committed") ? has.committed : null,
    is_pushed: needs("pushed") ? has.pushed : null,
    tests_passed: needs("tests") ? failure === undefined : null,
    branch_name: branch,
    files_changed: changed?.split("\0").filter((name) => name !== "").length ?? 0,
  };
}
