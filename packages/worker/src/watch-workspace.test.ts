import { execFileSync } from "node:child_process";
import { Buffer } from "node:buffer";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { test as base, expect } from "vitest";
import type { AgentEvent } from "./agent-runtime.ts";
import { systemClock } from "./clock.ts";
import { noLog } from "./log.ts";
import { watchWorkspace, type WorkspaceWatch } from "./watch-workspace.ts";

interface Desk {
  readonly cwd: string;
  readonly artifacts: Map<string, Buffer>;
  readonly watch: WorkspaceWatch;
  readonly folder: string;
  git(...args: string[]): string;
  /** The changes since the last look. */
  look(): Promise<Record<string, unknown>[]>;
}

function openDesk(folder: string): Desk {
  const cwd = join(folder, "work");
  mkdirSync(cwd, { recursive: true });
  const stateDir = join(folder, "state");
  mkdirSync(stateDir, { recursive: true });
  const artifacts = new Map<string, Buffer>();
  const keepArtifact = (bytes: Buffer) => {
    const id = `artifact-${artifacts.size}`;
    artifacts.set(id, bytes);
    return Promise.resolve(id);
  };
  const watch = watchWorkspace({
    cwd,
    stateDir,
    path: process.env["PATH"],
    clock: systemClock,
    log: noLog,
    keepArtifact,
    note: undefined,
  });
  const identity = ["-c", "user.name=a", "-c", "user.email=a@b"];
  return {
    cwd,
    artifacts,
    watch,
    folder,
    git: (...args) => execFileSync("git", [...identity, ...args], { cwd }).toString(),
    async look() {
      const events = await watch.capture({ kind: "turn", turn: 1 });
      expect(events.filter((event) => event.event_type === "workspace.unwatched")).toEqual([]);
      return events.filter((event) => event.event_type === "agent.file_edited").map((event) => event.event_data);
    },
  };
}

const test = base.extend<{ desk: Desk }>({
  desk: async ({}, use) => {
    const folder = mkdtempSync(join(tmpdir(), "workspace-"));
    await use(openDesk(folder));
    rmSync(folder, { recursive: true, force: true });
  },
});

const summary = (edits: readonly Record<string, unknown>[]) =>
  edits
    .map((edit) => [String(edit["change_type"]), String(edit["file_path"])] as const)
    .toSorted((a, b) => (a.join(" ") < b.join(" ") ? -1 : 1));

/** Everything below a folder but repositories: bytes, links and who may run it. */
function readTree(root: string): Record<string, string> {
  const found: Record<string, string> = {};
  const walk = (path: Buffer) => {
    for (const name of readdirSync(path, { encoding: "buffer" })) {
      if (name.toString() === ".git") continue;
      const full = Buffer.concat([path, Buffer.from("/"), name]);
      const about = lstatSync(full);
      if (about.isDirectory()) walk(full);
      else
        found[full.subarray(root.length).toString("latin1")] = about.isSymbolicLink()
          ? `-> ${readlinkSync(full)}`
          : `${(about.mode & 0o100) !== 0} ${readFileSync(full).toString("base64")}`;
    }
  };
  walk(Buffer.from(root));
  return found;
}

test("whoever makes it, a change is told once, with its kind", async ({ desk }) => {
  writeFileSync(join(desk.cwd, "kept.txt"), "1\n");
  writeFileSync(join(desk.cwd, "old name.txt"), "some text\nthat stays\nthe same\n");
  writeFileSync(join(desk.cwd, "gone.txt"), "x\n");
  const [first] = await desk.watch.begin();
  expect(first).toMatchObject({ event_type: "workspace.checkpoint", event_data: { turn: 0, files_changed: 0 } });
  expect(await desk.look()).toEqual([]);

  writeFileSync(join(desk.cwd, "kept.txt"), "1\n2\n");
  renameSync(join(desk.cwd, "old name.txt"), join(desk.cwd, "new name.txt"));
  rmSync(join(desk.cwd, "gone.txt"));
  writeFileSync(join(desk.cwd, 'odd "\n name.txt'), "y\n");
  writeFileSync(Buffer.concat([Buffer.from(`${desk.cwd}/latin-`), Buffer.from([0xe9])]), "z\n");
  symlinkSync("kept.txt", join(desk.cwd, "link"));
  const edits = await desk.look();
  expect(summary(edits)).toEqual([
    ["created", '"latin-\\351"'],
    ["created", "link"],
    ["created", 'odd "\n name.txt'],
    ["deleted", "gone.txt"],
    ["modified", "kept.txt"],
    ["renamed", "new name.txt"],
  ]);
  expect(edits.find((edit) => edit["file_path"] === "kept.txt")).toMatchObject({ lines_added: 1, lines_removed: 0 });
  expect(edits.find((edit) => edit["file_path"] === "new name.txt")).toMatchObject({ old_path: "old name.txt" });
  expect(await desk.look()).toEqual([]);

  chmodSync(join(desk.cwd, "kept.txt"), 0o755);
  expect(await desk.look()).toMatchObject([{ change_type: "modified", lines_added: 0, lines_removed: 0 }]);
  rmSync(join(desk.cwd, "link"));
  writeFileSync(join(desk.cwd, "link"), "a file now\n");
  expect(summary(await desk.look())).toEqual([["modified", "link"]]);
  // Of three looks together: each file once, and none that is as it was at the beginning.
  expect(await desk.watch.countChanged()).toBe(6);
  rmSync(join(desk.cwd, "link"));
  await desk.look();
  expect(await desk.watch.countChanged()).toBe(5);
});

test("the owner's repository is left as it was, also without a commit, and its rules of what to ignore hold", async ({
  desk,
}) => {
  desk.git("init", "-q");
  writeFileSync(join(desk.cwd, ".gitignore"), "*.log\nbuild/\n");
  writeFileSync(join(desk.cwd, "tracked.log"), "1\n");
  writeFileSync(join(desk.cwd, "a.txt"), "1\n");
  const hook = join(desk.cwd, ".git", "hooks", "post-index-change");
  writeFileSync(hook, `#!/bin/sh\ntouch ${desk.folder}/hooked\n`, { mode: 0o755 });
  desk.git("config", "filter.evil.clean", `touch ${desk.folder}/filtered; cat`);
  writeFileSync(join(desk.cwd, ".gitattributes"), "*.txt filter=evil\n");
  desk.git("add", "-f", "tracked.log");
  rmSync(join(desk.folder, "hooked"), { force: true });
  const index = readFileSync(join(desk.cwd, ".git", "index"));
  const head = readFileSync(join(desk.cwd, ".git", "HEAD"));
  await desk.watch.begin();

  writeFileSync(join(desk.cwd, "tracked.log"), "2\n");
  writeFileSync(join(desk.cwd, "noise.log"), "2\n");
  mkdirSync(join(desk.cwd, "build"));
  writeFileSync(join(desk.cwd, "build", "out.js"), "2\n");
  writeFileSync(join(desk.cwd, "a.txt"), "2\n");
  expect(summary(await desk.look())).toEqual([
    ["modified", "a.txt"],
    ["modified", "tracked.log"],
  ]);
  expect(readFileSync(join(desk.cwd, ".git", "index")).equals(index)).toBe(true);
  expect(readFileSync(join(desk.cwd, ".git", "HEAD")).equals(head)).toBe(true);
  expect(desk.git("for-each-ref")).toBe("");
  expect(existsSync(join(desk.folder, "hooked"))).toBe(false);
  expect(existsSync(join(desk.folder, "filtered"))).toBe(false);

  desk.git("add", "-A");
  desk.git("commit", "-qm", "mine");
  desk.git("checkout", "-q", "-b", "other");
  expect(await desk.look()).toEqual([]);
});

test("repositories inside the workspace are files like others, with a commit or without", async ({ desk }) => {
  await desk.watch.begin();
  for (const name of ["empty", "full"]) {
    mkdirSync(join(desk.cwd, name, "deep"), { recursive: true });
    writeFileSync(join(desk.cwd, name, "deep", "a.txt"), `${name}\n`);
    execFileSync("git", ["init", "-q"], { cwd: join(desk.cwd, name) });
  }
  desk.git("-C", "full", "add", "-A");
  desk.git("-C", "full", "commit", "-qm", "one");
  expect(summary(await desk.look())).toEqual([
    ["created", "empty/deep/a.txt"],
    ["created", "full/deep/a.txt"],
  ]);
  writeFileSync(join(desk.cwd, "full", "deep", "a.txt"), "changed\n");
  expect(summary(await desk.look())).toEqual([["modified", "full/deep/a.txt"]]);
  rmSync(join(desk.cwd, "full"), { recursive: true });
  expect(summary(await desk.look())).toEqual([["deleted", "full/deep/a.txt"]]);
});

test("a huge file is told without a patch and kept out of checkpoints; a binary one has a patch", async ({ desk }) => {
  await desk.watch.begin();
  const huge = join(desk.cwd, "huge.bin");
  writeFileSync(huge, "");
  truncateSync(huge, 40 * 1024 * 1024);
  writeFileSync(join(desk.cwd, "small.bin"), Buffer.from([0, 1, 2, 255]));
  const edits = await desk.look();
  expect(edits).toMatchObject([
    {
      file_path: "small.bin",
      change_type: "created",
      is_binary: true,
      full_diff: expect.stringContaining("GIT binary patch"),
    },
    { file_path: "huge.bin", change_type: "created", is_too_large: true, full_diff: null, size: 40 * 1024 * 1024 },
  ]);
  expect(await desk.look()).toEqual([]);
  truncateSync(huge, 41 * 1024 * 1024);
  expect(summary(await desk.look())).toEqual([["modified", "huge.bin"]]);
  rmSync(huge);
  expect(summary(await desk.look())).toEqual([["deleted", "huge.bin"]]);
});

test("asked twice for one tool, it answers once; the next life goes on from what was noted", async ({ desk }) => {
  await desk.watch.begin();
  writeFileSync(join(desk.cwd, "a.txt"), "1\n");
  const at = { kind: "tool", turn: 3, toolUseId: "t1" } as const;
  const events = await desk.watch.capture(at);
  expect(events.map((event: AgentEvent) => event.event_type)).toEqual(["agent.file_edited", "workspace.checkpoint"]);
  expect(events[0]?.event_data).toMatchObject({ turn: 3, tool_use_id: "t1" });
  writeFileSync(join(desk.cwd, "a.txt"), "2\n");
  expect(await desk.watch.capture(at)).toEqual([]);

  const again = watchWorkspace({
    cwd: desk.cwd,
    stateDir: join(desk.folder, "state"),
    path: process.env["PATH"],
    clock: systemClock,
    log: noLog,
    keepArtifact: () => Promise.resolve("x"),
    note: desk.watch.toNote(),
  });
  expect(await again.begin()).toEqual([]);
  expect(await again.capture({ kind: "turn", turn: 4 })).toMatchObject([
    { event_data: { change_type: "modified" } },
    {},
  ]);
});

const Name = fc.constantFrom("a", "b.txt", "d/a", "d/b c", "d/e/f", 'q"\\\n', "ü", " lead", "tab\t");
const Content = fc.oneof(
  fc
    .constantFrom("", "x", "x\n", "one\ntwo\nthree\nfour\n", "one\nzwei\nthree\nfour\n", "a\r\nb\r\n", "\u0001\u0002\n")
    .map((text) => Buffer.from(text)),
  fc.constantFrom(Buffer.from([0xe9, 0x0a]), Buffer.from([0, 1, 2]), Buffer.from(`${"line\n".repeat(2_000)}\0tail`)),
);
const Act = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("write" as const), name: Name, content: Content }) },
  fc.record({ kind: fc.constant("remove" as const), name: Name }),
  fc.record({ kind: fc.constant("move" as const), name: Name, to: Name }),
  fc.record({ kind: fc.constant("run" as const), name: Name }),
  fc.record({ kind: fc.constant("link" as const), name: Name, to: Name }),
);
type Act = typeof Act extends fc.Arbitrary<infer T> ? T : never;

function perform(cwd: string, act: Act): void {
  const path = join(cwd, act.name);
  const isThere = () => lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  const clear = (target: string) => {
    rmSync(target, { recursive: true, force: true });
    const parts = target.slice(cwd.length + 1).split("/");
    for (let depth = 1; depth < parts.length; depth++) {
      const folder = join(cwd, ...parts.slice(0, depth));
      if (lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() === false) rmSync(folder);
    }
    mkdirSync(join(target, ".."), { recursive: true });
  };
  if (act.kind === "write") {
    clear(path);
    writeFileSync(path, act.content);
  } else if (act.kind === "link") {
    clear(path);
    symlinkSync(act.to, path);
  } else if (!isThere()) return;
  else if (act.kind === "remove") rmSync(path, { recursive: true });
  else if (act.kind === "run") {
    if (lstatSync(path).isFile()) chmodSync(path, 0o755);
  } else if (
    act.to !== act.name &&
    !join(cwd, act.to).startsWith(`${path}/`) &&
    !path.startsWith(`${join(cwd, act.to)}/`)
  ) {
    clear(join(cwd, act.to));
    renameSync(path, join(cwd, act.to));
  }
}

test(
  "whatever is done to the files, git applies the patches of each step to the files before it",
  { timeout: 60_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(Act, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 3 }),
        async (rounds) => {
          const folder = mkdtempSync(join(tmpdir(), "workspace-"));
          try {
            const desk = openDesk(folder);
            const copy = join(folder, "copy");
            mkdirSync(copy);
            execFileSync("git", ["init", "-q"], { cwd: copy });
            await desk.watch.begin();
            for (const acts of rounds) {
              for (const act of acts) perform(desk.cwd, act);
              const edits = await desk.look();
              const patches = edits.map((edit) =>
                typeof edit["full_diff"] === "string"
                  ? edit["full_diff"]
                  : String(desk.artifacts.get(String(edit["full_diff_artifact"]))),
              );
              // Of one step together: where a file takes the place of a folder, no order of single patches is right.
              if (patches.length > 0)
                execFileSync("git", ["apply", "--index", "--whitespace=nowarn", "-"], {
                  cwd: copy,
                  input: patches.join(""),
                });
              expect(readTree(copy)).toEqual(readTree(desk.cwd));
            }
          } finally {
            rmSync(folder, { recursive: true, force: true });
          }
        },
      ),
      { numRuns: 15 },
    );
  },
);
