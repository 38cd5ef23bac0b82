/** Commands: argv, streams, statuses and their end. */
import { randomBytes } from "node:crypto";
import { expect } from "vitest";
import { collect, exited, uniqueNap, untilFact, type Given, type ProviderPromise } from "./given.ts";
import type { SandboxRef } from "../../../../server/src/ports/sandbox-provider.ts";

const LARGE_BYTES = 5_000_000;
/** Of each stream 4 MB: more than what stands between a command and who reads it. */
const COUNTED = 600_000;
const BYTES_A_BEAT = 400_000;
const BYTES_A_LOOK = 64_000;

/** By `kill -0` of a second command: a sandbox is one world of processes. */
async function isAlive(given: Given, ref: SandboxRef, pid: string): Promise<boolean> {
  const { exit } = await given.run(ref, { argv: ["sh", "-c", 'kill -0 "$1"', "sh", pid] });
  return exit.code === 0;
}

export const EXEC_PROMISES: readonly ProviderPromise[] = [
  {
    title: "stdout, stderr and the exit code come apart",
    keep: async (given) => {
      const ref = await given.sharedSandbox();
      const outcome = await given.run(ref, { argv: ["sh", "-c", "echo out; echo err >&2; exit 7"] });
      expect(outcome.stdout.toString()).toBe("out\n");
      expect(outcome.stderr.toString()).toBe("err\n");
      expect(outcome.exit).toEqual(exited(7));
    },
  },
  {
    title: "arguments arrive untouched",
    keep: async (given) => {
      const ref = await given.sharedSandbox();
      const args = ["a b", "", "'\"", "$HOME `id` $(id)", "line\nline", "\\n", "*", "-e", "--", "ü\u{1f600}", "%s;|&"];
      const outcome = await given.run(ref, { argv: ["sh", "-c", 'printf "%s\\0" "$@"', "sh", ...args] });
      expect(outcome.stdout.toString().split("\0").slice(0, -1)).toEqual(args);
    },
  },
  {
    title: "the first argument is a program, not a word of a shell",
    keep: async (given) => {
      const ref = await given.sharedSandbox();
      const outcome = await given.run(ref, { argv: ["exit", "0"] });
      expect(outcome.exit).toEqual(exited(127));
    },
  },
  {
    title: "a program that does not exist gives 127 and says so",
    keep: async (given) => {
      const ref = await given.sharedSandbox();
      const outcome = await given.run(ref, { argv: ["no-such-program"] });
      expect(outcome.exit).toEqual(exited(127));
      expect(outcome.stderr.toString()).toContain("no-such-program");
    },
  },
  {
    title: "commands start in /workspace, or where they are told to",
    keep: async (given) => {
      const ref = await given.sharedSandbox();
      expect((await given.run(ref, { argv: ["pwd"] })).stdout.toString()).toBe("/workspace\n");
      expect((await given.run(ref, { argv: ["pwd"], cwd: "/usr" })).stdout.toString()).toBe("/usr\n");
    },
  },
  {
    title: "a directory that is not there is named, and the command does not run elsewhere",
    keep: async (given) => {
      const ref = await given.sharedSandbox();
      for (const cwd of ["/no-such-directory", "/etc/passwd"]) {
        const outcome = await given.run(ref, { argv: ["echo", "ran"], cwd });
        expect([outcome.exit, outcome.stdout.toString()]).toEqual([exited(126), ""]);
        expect(outcome.stderr.toString()).toContain(cwd);
      }
    },
  },
  {
    title: "the environment is the sandbox's with the command's over it, and nothing of the server's",
    keep: async (given) => {
      const ref = await given.sandbox({ env: { KEPT: "by the sandbox", CHANGED: "by the sandbox" } });
      const value = "by 'the' command\nin two lines";
      const { stdout } = await given.run(ref, { argv: ["env", "-0"], env: { CHANGED: value } });
      const variables = stdout.toString().split("\0");
      expect(variables).toEqual(expect.arrayContaining(["KEPT=by the sandbox", `CHANGED=${value}`]));
      expect(variables.find((variable) => variable.startsWith("VITEST"))).toBeUndefined();
    },
  },
  {
    title: "a command without stdin reads the end at once",
    keep: async (given) => {
      const ref = await given.sharedSandbox();
      const outcome = await given.run(ref, { argv: ["cat"] });
      expect(outcome.exit).toEqual(exited(0));
    },
  },
  {
    title: "5 MB of any bytes go in by stdin and come out by stdout",
    keep: async (given) => {
      const ref = await given.sharedSandbox();
      const stdin = Buffer.concat([
        Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)),
        randomBytes(LARGE_BYTES),
      ]);
      const outcome = await given.run(ref, { argv: ["cat"], stdin });
      expect(outcome.exit).toEqual(exited(0));
      expect(outcome.stdout.equals(stdin)).toBe(true);
    },
  },
  {
    title: "a command that does not read its stdin ends all the same",
    keep: async (given) => {
      const ref = await given.sharedSandbox();
      const outcome = await given.run(ref, { argv: ["sh", "-c", "exit 3"], stdin: randomBytes(LARGE_BYTES) });
      expect(outcome.exit).toEqual(exited(3));
    },
  },
  {
    title: "bytes that are no UTF-8 come out as they are, on both streams",
    keep: async (given) => {
      const ref = await given.sharedSandbox();
      const script = "printf '\\377\\376\\000\\303'; printf '\\200\\n\\000' >&2";
      const outcome = await given.run(ref, { argv: ["sh", "-c", script] });
      expect([...outcome.stdout]).toEqual([0xff, 0xfe, 0, 0xc3]);
      expect([...outcome.stderr]).toEqual([0x80, 0x0a, 0]);
    },
  },
  {
    title: "a reader who is slow is given every byte of both streams, and then the end",
    keep: async (given) => {
      const ref = await given.sharedSandbox();
      // Each beat is longer than any silence by which an end could be guessed.
      const beat = given.provider.exec(ref, { argv: ["sh", "-c", "while echo; do sleep 0.2; done"] }, given.signal);
      const beats = beat[Symbol.asyncIterator]();
      const script = `seq ${COUNTED} & seq ${COUNTED} >&2 & wait; echo last; exit 9`;
      const read = { stdout: [] as Uint8Array[], stderr: [] as Uint8Array[] };
      let rest = 0;
      const exits = [];
      for await (const event of given.provider.exec(ref, { argv: ["sh", "-c", script] }, given.signal)) {
        if (event.type === "exit") exits.push(event);
        else {
          read[event.type].push(event.chunk);
          for (rest += event.chunk.length; rest > BYTES_A_BEAT; rest -= BYTES_A_BEAT) await beats.next();
        }
      }
      await beats.return?.();
      const counted = Buffer.from(Array.from({ length: COUNTED }, (_, n) => `${n + 1}\n`).join(""));
      expect(Buffer.concat(read.stdout).equals(Buffer.concat([counted, Buffer.from("last\n")]))).toBe(true);
      expect(Buffer.concat(read.stderr).equals(counted)).toBe(true);
      expect(exits).toEqual([exited(9)]);
    },
  },
  {
    title: "a reader who stands still until long after a command's end is given what it said last",
    keep: async (given) => {
      const ref = await given.sharedSandbox();
      const cwd = await given.directory(ref);
      const command = { argv: ["sh", "-c", `seq ${COUNTED / 2}; echo > ended; exit 9`], cwd } as const;
      const isEnded = async () => (await given.run(ref, { argv: ["test", "-e", "ended"], cwd })).exit.code === 0;
      const read: Uint8Array[] = [];
      const exits = [];
      let [rest, hasStood] = [0, false];
      for await (const event of given.provider.exec(ref, command, given.signal)) {
        if (event.type === "exit") exits.push(event);
        else {
          read.push(event.chunk);
          rest += event.chunk.length;
          if (hasStood || rest < BYTES_A_LOOK) continue;
          rest = 0;
          hasStood = await isEnded();
          // Longer than engines keep what nobody has read.
          if (hasStood) await given.shell(ref, "sleep 4");
        }
      }
      const counted = Buffer.from(Array.from({ length: COUNTED / 2 }, (_, n) => `${n + 1}\n`).join(""));
      expect(hasStood).toBe(true);
      expect(Buffer.concat(read).equals(counted)).toBe(true);
      expect(exits).toEqual([exited(9)]);
    },
  },
  {
    title: "output arrives while the command runs",
    keep: async (given) => {
      const ref = await given.sharedSandbox();
      const cwd = await given.directory(ref);
      const script = "mkfifo gate; echo first; echo warning >&2; cat gate";
      const seen: string[] = [];
      for await (const event of given.provider.exec(ref, { argv: ["sh", "-c", script], cwd }, given.signal)) {
        seen.push(
          event.type === "exit" ? `exit ${event.code}` : `${event.type} ${Buffer.from(event.chunk).toString()}`,
        );
        // The gate opens only because both were seen.
        if (seen.length === 2) await given.shell(ref, "echo opened > gate", cwd);
      }
      expect(seen.slice(0, 2).toSorted()).toEqual(["stderr warning\n", "stdout first\n"]);
      expect(seen.slice(2)).toEqual(["stdout opened\n", "exit 0"]);
    },
  },
  {
    title: "a command ends with its process, also when something goes on in the background",
    keep: async (given) => {
      const ref = await given.sharedSandbox();
      const outcome = await given.run(ref, { argv: ["sh", "-c", `sleep ${uniqueNap()} & echo $!`] });
      expect(outcome.exit).toEqual(exited(0));
      await given.shell(ref, `kill -9 ${outcome.stdout.toString()}`);
    },
  },
  {
    title: "a command that a signal ends tells which",
    keep: async (given) => {
      const ref = await given.sharedSandbox();
      const outcome = await given.run(ref, { argv: ["sh", "-c", "kill -TERM $$"] });
      expect(outcome.exit).toEqual({ ...exited(0), code: null, signal: "SIGTERM" });
    },
  },
  {
    title: "a code above 128 is a code, not a signal",
    keep: async (given) => {
      const ref = await given.sharedSandbox();
      const outcome = await given.run(ref, { argv: ["sh", "-c", "exit 143"] });
      expect(outcome.exit).toEqual(exited(143));
    },
  },
  {
    title: "a timeout kills the whole process group and says so",
    keep: async (given) => {
      const ref = await given.sharedSandbox();
      const script = `trap '' TERM INT HUP; sleep ${uniqueNap()} & echo $!; wait; wait`;
      const outcome = await given.run(ref, { argv: ["sh", "-c", script], timeoutMs: 500 });
      expect(outcome.exit).toEqual({ ...exited(0), code: null, signal: "SIGKILL", isTimedOut: true });
      const pid = outcome.stdout.toString().trim();
      expect(pid).toMatch(/^\d+$/);
      await untilFact("the child of the command is gone", async () => !(await isAlive(given, ref, pid)));
    },
  },
  {
    title: "an abort kills the whole process group and ends the command",
    keep: async (given) => {
      const ref = await given.sharedSandbox();
      const stop = new AbortController();
      const command = { argv: ["sh", "-c", `sleep ${uniqueNap()} & echo $!; wait`] } as const;
      let pid = "";
      const exits = [];
      for await (const event of given.provider.exec(ref, command, stop.signal)) {
        if (event.type === "exit") exits.push(event);
        else pid += Buffer.from(event.chunk).toString();
        if (pid.endsWith("\n")) stop.abort();
      }
      expect(exits).toEqual([{ ...exited(0), code: null, signal: "SIGKILL" }]);
      await untilFact("the child of the command is gone", async () => !(await isAlive(given, ref, pid.trim())));
    },
  },
  {
    title: "a reader that leaves takes the command with it",
    keep: async (given) => {
      const ref = await given.sharedSandbox();
      const command = { argv: ["sh", "-c", `echo $$; exec sleep ${uniqueNap()}`] } as const;
      let pid = "";
      for await (const event of given.provider.exec(ref, command, given.signal)) {
        if (event.type === "stdout") pid = Buffer.from(event.chunk).toString().trim();
        break;
      }
      expect(pid).toMatch(/^\d+$/);
      await untilFact("the command is gone", async () => !(await isAlive(given, ref, pid)));
    },
  },
  {
    title: "commands run side by side",
    keep: async (given) => {
      const ref = await given.sharedSandbox();
      const cwd = await given.directory(ref);
      await given.shell(ref, "mkfifo gate", cwd);
      const run = (script: string) =>
        collect(given.provider.exec(ref, { argv: ["sh", "-c", script], cwd }, given.signal));
      const [reader] = await Promise.all([run("cat gate"), run("echo met > gate")]);
      expect(reader.stdout.toString()).toBe("met\n");
    },
  },
];
