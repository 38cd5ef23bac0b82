/** Against what does our work inside: its memory, its descriptors, its life, its words. */
import { expect } from "vitest";
import { refusal, unique, uniqueNap, untilFact, isOnThisMachine } from "../conformance/sandbox/given.ts";
import type { Attempt } from "./attempt.ts";

const FILES = [
  "mem",
  "environ",
  "maps",
  "fd/3",
  "fdinfo/3",
  "root/etc/passwd",
  "cwd/.",
  "exe",
  "map_files",
  "syscall",
  "stack",
];
/** Prints what was taken of descriptor 0 to 9 of the process that is its argument. */
const TAKE = `$fd = syscall(434, $ARGV[0], 0); for (0 .. 9) { print "taken $_\\n" if syscall(438, $fd, $_, 0) >= 0 } print "done\\n"`;

/** Where it is sealed: nothing of it can be opened. */
export const OPEN_SUPERVISOR: readonly Attempt[] = [
  {
    title: "the supervisor's memory, environment, descriptors and root cannot be opened",
    fails: async (given) => {
      const own = `/proc/${given.ground.keeper}`;
      const said = await given.tryShell(
        await given.attacker(),
        `cat ${own}/cmdline | tr '\\0' ' '; for f in ${FILES.join(" ")}; do { head -c 1 ${own}/$f >/dev/null || ls ${own}/$f/ >/dev/null; } 2>/dev/null && echo opened $f; done; { echo x > ${own}/mem; } 2>/dev/null && echo wrote; ls ${own}/fd 2>/dev/null; echo done`,
      );
      expect(said).toMatch(/supervisor\.cjs done\n$/);
      expect(
        await given.tryShell(
          await given.attacker(),
          `perl -e 'open(F, q(+<), q(${own}/fd/3)) and print qq(taken); print qq(done)'`,
        ),
      ).toBe("done");
    },
  },
];

/** Where it is not: it has nothing. */
export const OPEN_KEEPER: readonly Attempt[] = [
  {
    title: "what keeps a container has no secret, and no descriptor that leads out",
    fails: async (given) => {
      const said = await given.tryShell(
        await given.attacker(),
        "for p in /proc/[0-9]*; do for f in $p/fd/*; do echo fd $(readlink $f); done; tr '\\0' '\\n' < $p/environ; readlink $p/cwd; done; readlink /proc/1/exe",
      );
      const ways = Array.from(said.matchAll(/^fd (.+)$/gm), ([, way = ""]) => way);
      expect(ways.length).toBeGreaterThan(5);
      expect(ways.filter((way) => !/^(?:pipe:|\/dev\/(?:null|pts\/\d+)$|\/proc\/\d+\/fd$)/.test(way))).toEqual([]);
      expect(said).not.toMatch(/drv_|DOCKER_|containerd|runc/);
    },
  },
  {
    title: "a keeper that was stopped, or whose orders are stolen, does not save a command from its end",
    fails: async (given) => {
      const ref = await given.sandbox();
      await given.shell(ref, `kill -STOP ${given.ground.keeper}`);
      await given.provider.startDetached(
        ref,
        { argv: ["sh", "-c", `cat /proc/${given.ground.keeper}/fd/0`] },
        given.signal,
      );
      const nap = uniqueNap();
      const { exit } = await given.run(ref, { argv: ["setsid", "--wait", "sleep", nap], timeoutMs: 500 });
      expect(exit).toMatchObject({ isTimedOut: true });
      await given.provider.destroy(ref, given.signal);
      expect(isOnThisMachine(nap)).toBe(false);
    },
  },
];

export const ATTACK_SUPERVISOR: readonly Attempt[] = [
  {
    title: "no descriptor of ours is inherited, and a program cannot take one out of another process",
    fails: async (given) => {
      const ref = await given.attacker();
      // Only the three streams, and the directory that is being listed.
      expect((await given.shell(ref, "ls /proc/self/fd")).trim().split("\n")).toEqual(["0", "1", "2", "3"]);
      expect(await given.tryShell(ref, `perl -e '${TAKE}' ${given.ground.keeper}; perl -e '${TAKE}' 1`)).toBe(
        "done\ndone\n",
      );
    },
  },
  {
    title: "killing the supervisor ends the attacker's own sandbox and nothing else, and it is told",
    fails: async (given) => {
      const ref = await given.sandbox();
      const nap = uniqueNap();
      await given.provider.startDetached(ref, { argv: ["setsid", "sleep", nap] }, given.signal);
      await untilFact("it sleeps", () => isOnThisMachine(nap));
      await given
        .run(ref, { argv: ["sh", "-c", `kill -9 1; kill -9 ${given.ground.keeper}; kill -9 -1`] })
        .catch(() => undefined);
      await untilFact(
        "it has stopped",
        async () => (await given.provider.info(ref, given.signal))?.state === "stopped",
      );
      expect(await given.provider.info(ref, given.signal)).toMatchObject({
        state: "stopped",
        reason: expect.any(String),
      });
      await untilFact("nothing of it runs", () => !isOnThisMachine(nap));
      await given.expectAlive(await given.attacker());
    },
  },
  {
    title: "a stopped supervisor holds nobody up: info answers, calls end, and the sandbox is destroyed",
    fails: async (given) => {
      const ref = await given.provider.ensure(given.spec(), given.signal);
      const nap = uniqueNap();
      // In two parts, so that it is found only once it sleeps.
      const script = `sleep 0.2; kill -STOP ${given.ground.keeper}; exec sleep ${nap.replace(".", "''.")}`;
      await given.provider.startDetached(ref, { argv: ["sh", "-c", script] }, given.signal);
      await untilFact("it is stopped", () => isOnThisMachine(nap));
      expect(await given.provider.info(ref, given.signal)).toMatchObject({ state: "running", ended: [] });
      const limited = AbortSignal.timeout(given.ground.isSealed ? 500 : 20_000);
      const download = given.provider.download(ref, "/etc/passwd", 1_000, limited);
      // Where it has no part in downloads they go on.
      if (given.ground.isSealed) await expect(download).rejects.toEqual(refusal("sandbox.unavailable"));
      else expect(Buffer.from(await download).toString()).toContain("agent:");
      await given.expectAlive(await given.attacker());
      await given.provider.destroy(ref, given.signal);
      await untilFact("it is gone", () => !isOnThisMachine(nap));
    },
  },
  {
    title: "words that no process can be given are refused, and the supervisor goes on",
    fails: async (given) => {
      const ref = await given.attacker();
      const nul = given.run(ref, { argv: ["echo", "a\0b"] }).then(
        ({ exit }) => exit.code,
        () => "refused",
      );
      expect(await nul).not.toBe(0);
      const long = await given.run(ref, { argv: ["echo", "x".repeat(300_000)] }).catch(() => undefined);
      expect(long?.exit.code ?? 1).not.toBe(0);
      const name = `/workspace/${"y".repeat(300)}`;
      await expect(given.provider.upload(ref, name, Buffer.from("x"), {}, given.signal)).rejects.toEqual(
        refusal("sandbox.rejected"),
      );
      await expect(given.provider.upload(ref, "/workspace/a\0b", Buffer.from("x"), {}, given.signal)).rejects.toEqual(
        refusal("sandbox.rejected"),
      );
      await given.expectAlive(ref);
    },
  },
  {
    title: "what comes out of a terminal is bytes: escape sequences, floods and no text at all",
    fails: async (given) => {
      const ref = await given.attacker();
      const terminal = await given.provider.openTerminal(ref, { columns: 80, rows: 24 }, given.signal);
      const word = unique("end");
      const chunks: Uint8Array[] = [];
      const read = (async () => {
        for await (const chunk of terminal.output) chunks.push(chunk);
      })();
      const escapes = "\\033]0;title\\007\\033[2J\\033[6n\\033P+q\\033\\\\\\033]52;c;eA==\\007\\377\\376\\000";
      terminal.write(
        Buffer.from(
          `stty -echo; printf '${escapes}'; head -c 200000 /dev/urandom; echo; echo ${word.slice(0, 3)}${word.slice(3)} | rev; exit 7\n`,
        ),
      );
      expect(await terminal.exited).toEqual({ code: 7 });
      await read;
      const bytes = Buffer.concat(chunks);
      expect(bytes.includes(Buffer.from("\u001B]52;c;eA==\u0007"))).toBe(true);
      expect(bytes.includes(Buffer.from([0xff, 0xfe, 0x00]))).toBe(true);
      await given.expectAlive(ref);
    },
  },
];
