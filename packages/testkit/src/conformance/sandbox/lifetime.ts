/** From `ensure` to `destroy`: identity, labels, detached processes, pausing, snapshots. */
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import type { SandboxRef } from "../../../../server/src/ports/sandbox-provider.ts";
import { isOnThisMachine, refusal, unique, uniqueNap, untilFact, type Given, type ProviderPromise } from "./given.ts";

const endsOf = async (given: Given, ref: SandboxRef) => (await given.provider.info(ref, given.signal))?.ended ?? [];
const keysOf = (refs: readonly SandboxRef[]) => refs.map(({ key }) => key).toSorted();

/** Milliseconds between neighbours, of a file with one time in nanoseconds per line. */
function toGaps(ticks: string): readonly number[] {
  const times = ticks
    .trim()
    .split("\n")
    .map((line) => Number(BigInt(line) / 1_000n) / 1_000);
  return times.slice(1).map((time, index) => time - (times[index] ?? time));
}

export const LIFETIME_PROMISES: readonly ProviderPromise[] = [
  {
    title: "the same key gives the same sandbox, also when asked for at once",
    keep: async (given) => {
      const spec = given.spec();
      const ensure = () => given.provider.ensure(spec, given.signal);
      const refs = await Promise.all([ensure(), ensure(), ensure()]);
      onTestFinished(() => given.provider.destroy(refs[0], given.signal));
      await given.shell(refs[0], "echo kept > note");
      const again = await ensure();
      expect(new Set([...refs, again].map(({ id }) => id)).size).toBe(1);
      expect(again).toEqual({ key: spec.key, id: refs[0].id, labels: spec.labels });
      expect(await given.shell(again, "cat note")).toBe("kept\n");
      expect(await given.provider.list(spec.labels, given.signal)).toHaveLength(1);
    },
  },
  {
    title: "another handle finds the sandbox by its key and its labels, and works with it",
    needs: "survivesServer",
    keep: async (given) => {
      const spec = given.spec();
      const ref = await given.provider.ensure(spec, given.signal);
      onTestFinished(() => given.provider.destroy(ref, given.signal));
      await given.shell(ref, "echo kept > note");
      const other = await given.reopen();
      onTestFinished(() => other.close());
      expect(await other.ensure(spec, given.signal)).toEqual(ref);
      expect(await other.list(spec.labels, given.signal)).toEqual([ref]);
      expect(Buffer.from(await other.download(ref, "note", 100, given.signal)).toString()).toBe("kept\n");
    },
  },
  {
    title: "an agent of this machine is seen inside, can be run, and cannot be changed",
    needs: "mounts",
    keep: async (given) => {
      const directory = await mkdtemp(join(tmpdir(), "drover-agent-"));
      onTestFinished(() => rm(directory, { recursive: true, force: true }));
      await chmod(directory, 0o755);
      await writeFile(join(directory, "say"), "#!/bin/sh\necho seen\n", { mode: 0o755 });
      const spec = { ...given.spec(), agents: [{ name: "some-agent", directory }] };
      const ref = await given.provider.ensure(spec, given.signal);
      onTestFinished(() => given.provider.destroy(ref, given.signal));
      expect(await given.shell(ref, "/opt/drover/agents/some-agent/say")).toBe("seen\n");
      await given.shell(ref, "echo x > /opt/drover/agents/some-agent/say || true");
      expect(await readFile(join(directory, "say"), "utf8")).toContain("echo seen");
    },
  },
  {
    title: "two sandboxes share neither files nor processes",
    keep: async (given) => {
      const [one, two] = await Promise.all([given.sandbox(), given.sandbox()]);
      const nap = uniqueNap();
      await given.provider.startDetached(one, { argv: ["sleep", nap] }, given.signal);
      await given.shell(one, "echo mine > note; echo mine > /tmp/note");
      await untilFact("the process of the first runs", () => isOnThisMachine(nap));
      const seen = await given.shell(two, 'ls /tmp /workspace; cat /proc/[0-9]*/cmdline | tr "\\0" " "');
      expect(seen).not.toContain("note");
      expect(seen).not.toContain(nap);
    },
  },
  {
    title: "a list has what matches every label, and nothing of another installation",
    keep: async (given) => {
      const [ours, theirs] = [unique("ours"), unique("theirs")];
      const make = (installation: string, sandbox: string) =>
        given.sandbox({ labels: { installation, sandbox, generation: "1" } });
      const [first, second] = await Promise.all([make(ours, "one"), make(ours, "two"), make(theirs, "one")]);
      const list = (labels: Record<string, string>) => given.provider.list(labels, given.signal);
      expect(keysOf(await list({ installation: ours }))).toEqual(keysOf([first, second]));
      expect(await list({ installation: ours, sandbox: "one" })).toEqual([first]);
      expect(await list({ installation: unique("nobody") })).toEqual([]);
      const all = keysOf(await list({ generation: "1" }));
      expect(all).toEqual(expect.arrayContaining([first.key, second.key]));
    },
  },
  {
    title: "a detached process goes on after the call, and its end is told with its argv and code",
    keep: async (given) => {
      const ref = await given.sandbox();
      await given.shell(ref, "mkfifo gate");
      const argv = ["sh", "-c", "read word < gate; echo noise; exit 7", "with space", 'and "quote"\n'] as const;
      await given.provider.startDetached(ref, { argv, cwd: "/workspace" }, given.signal);
      expect(await endsOf(given, ref)).toEqual([]);
      await given.shell(ref, "echo go > gate");
      await untilFact("the end is told", async () => (await endsOf(given, ref)).length > 0);
      expect(await endsOf(given, ref)).toEqual([{ argv, code: 7, signal: null }]);
    },
  },
  {
    title: "a detached process that is killed, and one that never was, are told as ended",
    keep: async (given) => {
      const ref = await given.sandbox();
      await given.provider.startDetached(ref, { argv: ["sh", "-c", "kill -KILL $$"] }, given.signal);
      await given.provider.startDetached(ref, { argv: ["no-such-program"] }, given.signal);
      await untilFact("both ends are told", async () => (await endsOf(given, ref)).length === 2);
      const ends = await endsOf(given, ref);
      expect(ends.find(({ argv }) => argv[0] === "sh")).toMatchObject({ code: null, signal: "SIGKILL" });
      expect(ends.find(({ argv }) => argv[0] === "no-such-program")).toMatchObject({ code: 127, signal: null });
    },
  },
  {
    title: "a detached process has its directory, environment and stdin",
    keep: async (given) => {
      const ref = await given.sandbox();
      const argv = ["sh", "-c", 'read -r line; echo "$line $WORD $(pwd)" > /workspace/seen'] as const;
      const command = { argv, cwd: "/tmp", env: { WORD: "two" }, stdin: Buffer.from("one\n") };
      await given.provider.startDetached(ref, command, given.signal);
      await untilFact("it has ended", async () => (await endsOf(given, ref)).length === 1);
      expect(await given.shell(ref, "cat seen")).toBe("one two /tmp\n");
    },
  },
  {
    title: "a detached process outlives the handle that started it",
    needs: "survivesServer",
    keep: async (given) => {
      const ref = await given.sandbox();
      const first = await given.reopen();
      const argv = ["sh", "-c", "read word < gate; exit 9"] as const;
      await given.shell(ref, "mkfifo gate");
      await first.startDetached(ref, { argv, cwd: "/workspace" }, given.signal);
      await first.close();
      await given.shell(ref, "echo go > gate");
      await untilFact("the end is told", async () => (await endsOf(given, ref)).length > 0);
      expect(await endsOf(given, ref)).toEqual([{ argv, code: 9, signal: null }]);
    },
  },
  {
    title: "a paused sandbox makes no progress until it is resumed",
    needs: "pause",
    keep: async (given) => {
      const ref = await given.sandbox();
      const tick = "echo $$ > ticker; while :; do date +%s%N >> ticks; sleep 0.01; done";
      await given.provider.startDetached(ref, { argv: ["sh", "-c", tick], cwd: "/workspace" }, given.signal);
      const countTicks = async () => Number(await given.shell(ref, "cat ticks 2>/dev/null | wc -l"));
      await untilFact("it ticks", async () => (await countTicks()) > 3);
      await given.provider.pause(ref, given.signal);
      await given.provider.pause(ref, given.signal);
      const pausedAt = performance.now();
      expect(await given.provider.info(ref, given.signal)).toMatchObject({ state: "paused" });
      // Time passes: another sandbox is made, used and destroyed.
      const other = await given.provider.ensure(given.spec(), given.signal);
      await given.shell(other, "sleep 0.3");
      await given.provider.destroy(other, given.signal);
      const pausedMs = performance.now() - pausedAt;
      await given.provider.resume(ref, given.signal);
      await given.provider.resume(ref, given.signal);
      await given.shell(ref, "kill -0 $(cat ticker)");
      const before = await countTicks();
      await untilFact("it ticks again", async () => (await countTicks()) > before + 3);
      expect(await given.provider.info(ref, given.signal)).toMatchObject({ state: "running", reason: null });
      expect(Math.max(...toGaps(await given.shell(ref, "cat ticks")))).toBeGreaterThanOrEqual(pausedMs);
    },
  },
  {
    title: "a paused sandbox can be destroyed",
    needs: "pause",
    keep: async (given) => {
      const ref = await given.sandbox();
      const nap = uniqueNap();
      await given.provider.startDetached(ref, { argv: ["sleep", nap] }, given.signal);
      await untilFact("it runs", () => isOnThisMachine(nap));
      await given.provider.pause(ref, given.signal);
      await given.provider.destroy(ref, given.signal);
      await untilFact("it is gone", () => !isOnThisMachine(nap));
    },
  },
  {
    title: "files of a snapshot come back in a new sandbox, with labels, variables and processes of its own",
    needs: "snapshot",
    keep: async (given) => {
      const labels = { installation: unique("old"), sandbox: "old", extra: "old" };
      const ref = await given.sandbox({ labels, env: { OLD: "old" } });
      await given.shell(ref, "mkdir -p sub; printf 'kept' > 'sub/a b'; chmod 750 'sub/a b'; ln -s 'sub/a b' link");
      await given.provider.startDetached(ref, { argv: ["sleep", uniqueNap()] }, given.signal);
      const { snapshot } = await given.provider.snapshot(ref, unique("snapshot"), given.signal);
      await given.shell(ref, "printf changed > 'sub/a b'");
      const back = await given.sandbox({ snapshot });
      expect(await given.shell(back, "cat link; stat -c ' %a' 'sub/a b'; echo new > sub/new")).toBe("kept 750\n");
      expect(await given.provider.list(ref.labels, given.signal)).toEqual([ref]);
      expect(await given.provider.list(back.labels, given.signal)).toEqual([back]);
      expect(await endsOf(given, back)).toEqual([]);
      await given.provider.startDetached(back, { argv: ["sh", "-c", "exit 5"] }, given.signal);
      await untilFact("the end is told", async () => (await endsOf(given, back)).length === 1);
      expect(await given.shell(back, 'echo "[$OLD]" > /tmp/note; cat /tmp/note')).toBe("[]\n");
      expect(await given.shell(ref, "cat link")).toBe("changed");
    },
  },
  {
    title: "a snapshot that does not exist is refused",
    needs: "snapshot",
    keep: async (given) => {
      const spec = given.spec({ snapshot: unique("snapshot") });
      await expect(given.provider.ensure(spec, given.signal)).rejects.toEqual(refusal("sandbox.rejected"));
      expect(await given.provider.list(spec.labels, given.signal)).toEqual([]);
    },
  },
  {
    title: "destroy ends every process, daemons too, and removes the files",
    keep: async (given) => {
      const spec = given.spec();
      const ref = await given.provider.ensure(spec, given.signal);
      const [nap, daemon] = [uniqueNap(), uniqueNap()];
      await given.provider.startDetached(ref, { argv: ["sleep", nap] }, given.signal);
      await given.shell(
        ref,
        `echo old > note; (setsid sh -c 'trap "" HUP TERM; sleep ${daemon}; :' >/dev/null 2>&1 &)`,
      );
      await untilFact("both run", () => isOnThisMachine(nap) && isOnThisMachine(daemon));
      await given.provider.destroy(ref, given.signal);
      await untilFact("both are gone", () => !isOnThisMachine(nap) && !isOnThisMachine(daemon));
      expect(await given.provider.info(ref, given.signal)).toBeUndefined();
      expect(await given.provider.list(spec.labels, given.signal)).toEqual([]);
      const again = await given.provider.ensure(spec, given.signal);
      onTestFinished(() => given.provider.destroy(again, given.signal));
      expect(await given.shell(again, "ls -A")).not.toContain("note");
    },
  },
  {
    title: "a command whose sandbox is destroyed ends",
    keep: async (given) => {
      const ref = await given.sandbox();
      const nap = uniqueNap();
      const running = given.run(ref, { argv: ["sleep", nap] }).then(
        ({ exit }) => exit.signal ?? exit.code,
        (error: { code: string }) => error.code,
      );
      await untilFact("it runs", () => isOnThisMachine(nap));
      await given.provider.destroy(ref, given.signal);
      expect(await running).toBeOneOf(["SIGKILL", "sandbox.unavailable"]);
    },
  },
  {
    title: "destroy of a missing sandbox succeeds, also twice at once",
    keep: async (given) => {
      const ref = await given.provider.ensure(given.spec(), given.signal);
      const destroy = () => given.provider.destroy(ref, given.signal);
      await Promise.all([destroy(), destroy()]);
      await destroy();
      const never = unique("never");
      await given.provider.destroy({ key: never, id: never, labels: {} }, given.signal);
      expect(await given.provider.list(ref.labels, given.signal)).toEqual([]);
    },
  },
  {
    title: "a sandbox that does not exist is sandbox.unavailable, and has no info",
    keep: async (given) => {
      const { provider, signal } = given;
      const key = unique("never");
      const ref = { key, id: key, labels: {} };
      const unavailable = refusal("sandbox.unavailable");
      expect(await provider.info(ref, signal)).toBeUndefined();
      await expect(given.run(ref, { argv: ["true"] })).rejects.toEqual(unavailable);
      await expect(provider.startDetached(ref, { argv: ["true"] }, signal)).rejects.toEqual(unavailable);
      await expect(provider.upload(ref, "x", Buffer.from("x"), {}, signal)).rejects.toEqual(unavailable);
      await expect(provider.download(ref, "x", 10, signal)).rejects.toEqual(unavailable);
      await expect(provider.listFiles(ref, ".", signal)).rejects.toEqual(unavailable);
    },
  },
  {
    title: "a call whose signal has aborted is not begun",
    keep: async (given) => {
      const spec = given.spec();
      const aborted = AbortSignal.abort();
      await expect(given.provider.ensure(spec, aborted)).rejects.toBeInstanceOf(Error);
      await expect(given.provider.list(spec.labels, aborted)).rejects.toBeInstanceOf(Error);
      expect(await given.provider.list(spec.labels, given.signal)).toEqual([]);
    },
  },
];
