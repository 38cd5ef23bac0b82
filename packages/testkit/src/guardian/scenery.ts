/** The projects in which recorded agents work: their files, commands and what their tools print. */
import type { Chance } from "../chance.ts";

export type Some<T> = readonly [T, ...T[]];

export interface Project {
  readonly directories: Some<string>;
  readonly stems: Some<string>;
  readonly extension: string;
  readonly test: string;
  readonly build: string;
  readonly checks: Some<string>;
  readonly failures: Some<string>;
}

const STEMS: Some<string> = [
  "invoice",
  "session",
  "router",
  "parser",
  "ledger",
  "cache",
  "queue",
  "mailer",
  "search",
  "profile",
  "billing",
  "token",
  "upload",
  "report",
  "schedule",
  "webhook",
  "inventory",
  "payment",
  "export",
  "audit",
  "locale",
  "currency",
  "basket",
  "tax",
];

export const PROJECTS: Some<Project> = [
  {
    directories: ["src/app", "src/store", "src/http", "src/jobs", "src/views", "packages/core/src", "packages/cli/src"],
    stems: STEMS,
    extension: "ts",
    test: "npx vitest run",
    build: "npm run build",
    checks: ["npx tsc --noEmit", "npm run lint", "git status --short", "git diff --stat"],
    failures: [
      "AssertionError: expected 12 to be 14",
      "TypeError: Cannot read properties of undefined (reading 'id')",
      "Error: Cannot find module './money.js'",
    ],
  },
  {
    directories: ["shop/models", "shop/views", "shop/tasks", "billing/api", "billing/domain", "common/text"],
    stems: STEMS,
    extension: "py",
    test: "pytest -q",
    build: "make wheel",
    checks: ["ruff check .", "mypy shop", "git status --short", "git diff --stat"],
    failures: [
      "E   AssertionError: assert Decimal('9.90') == Decimal('9.91')",
      "E   KeyError: 'currency'",
      "E   ModuleNotFoundError: No module named 'shop.money'",
    ],
  },
  {
    directories: ["internal/server", "internal/storage", "internal/auth", "cmd/worker", "pkg/api", "pkg/retry"],
    stems: STEMS,
    extension: "go",
    test: "go test ./...",
    build: "make all",
    checks: ["go vet ./...", "golangci-lint run", "git status --short", "git diff --stat"],
    failures: [
      "panic: runtime error: invalid memory address or nil pointer dereference",
      "got 3 rows, want 4",
      "undefined: storage.NewLedger",
    ],
  },
  {
    directories: ["crates/engine/src", "crates/wire/src", "crates/store/src", "src/bin", "src/net"],
    stems: STEMS,
    extension: "rs",
    test: "cargo test",
    build: "cargo build --release",
    checks: ["cargo clippy", "cargo fmt --check", "git status --short", "git diff --stat"],
    failures: [
      "error[E0502]: cannot borrow `*self` as mutable because it is also borrowed as immutable",
      "assertion `left == right` failed\n  left: 7\n right: 8",
      "error[E0433]: failed to resolve: use of undeclared crate or module `ledger`",
    ],
  },
];

export const GOALS: Some<string> = [
  "Fix the rounding of totals on invoices with more than one tax rate.",
  "Add pagination to the list of reports, twenty to a page, and cover it with tests.",
  "The import of large files fails with a timeout. Find out why and repair it.",
  "Replace the home-made retry loop by the one in our library.",
  "Sessions are not ended when a user is disabled; they should be.",
  "Make the search ignore accents, and add tests for German and French names.",
  "Users report that the export is empty when the filter has a space in it. Please fix.",
  "Move the mail templates out of the code into files.",
  "Add an audit entry whenever a role changes.",
];

const THOUGHTS: Some<string> = [
  "Let me see how this is used elsewhere first.",
  "The cause is probably in how the value is read, not in how it is shown.",
  "I should look at the tests to learn what is expected here.",
  "That explains the symptom. The smallest change is to normalise earlier.",
  "There are two callers; both have to agree on the form.",
  "I want to be sure before I go on.",
];
export const LAST_WORDS: Some<string> = [
  "All done. The tests pass and the change is committed.",
  "I have finished the work: the bug is fixed and a test covers it.",
  "That completes the task. Let me know if you would like anything else.",
  "Everything you asked for is in place. Summary: three files changed, all checks green.",
  "The task is complete.",
];

export const toThought = (chance: Chance): string => chance.pick(THOUGHTS);

const toPath = (chance: Chance, project: Project, directory = chance.pick(project.directories)): string =>
  `${directory}/${chance.pick(project.stems)}${chance.isIn(30) ? `_${chance.pick(project.stems)}` : ""}.${project.extension}`;

/** Different paths, as many as asked for. */
export function listPaths(chance: Chance, project: Project, count: number, directory?: string): Some<string> {
  const first = toPath(chance, project, directory);
  const paths = new Set([first]);
  for (let tries = 0; paths.size < count && tries < count * 40; tries++) paths.add(toPath(chance, project, directory));
  return [first, ...[...paths].slice(1)];
}

/** What a file holds: the same for the same path and edition. */
export function toContent(path: string, edition: number, lines: number): string {
  const stem = path.replaceAll(/[^a-z]/g, "_");
  return Array.from(
    { length: lines },
    (_, line) => `${line + 1}\t${stem}_${line % 7} = load(${edition}, ${line * 3})`,
  ).join("\n");
}
