/** Against the supervisor: its memory, its descriptors, its life, its words. */
import { expect } from "vitest";
import { refusal, unique, uniqueNap, untilFact, isOnThisMachine } from "../conformance/sandbox/given.ts";
import type { Attempt } from "./attempt.ts";

const SUPERVISOR = 2;

export const ATTACK_SUPERVISOR: readonly Attempt[] = [
  {
    title: "the supervisor's memory, environment, descriptors and root cannot be opened",
    fails: async (given) => {
      const ref = await given.attacker();
      const files = [
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
      const said = await given.tryShell(
        ref,
        `cat /proc/${SUPERVISOR}/cmdline | tr '\\0' ' '; for f in ${files.join(" ")}; do { head -c 1 /proc/${SUPERVISOR}/$f >/dev/null || ls /proc/${SUPERVISOR}/$f/ >/dev/null; } 2>/dev/null && echo opened $f; done; { echo x > /proc/${SUPERVISOR}/mem; } 2>/dev/null && echo wrote; ls /proc/${SUPERVISOR}/fd 2>/dev/null; echo done`,
      );
      expect(said).toMatch(/supervisor\.mjs done\n$/);
    },
  },
  {
    title: "its control descriptor is not inherited, and a program cannot take it",
    fails: async (given) => {
      const ref = await given.attacker();
      // Only the three streams, and the directory that is being listed.
      expect((await given.shell(ref, "ls /proc/self/fd")).trim().split("\n")).toEqual(["0", "1", "2", "3"]);
      const take = `$fd = syscall(434, ${SUPERVISOR}, 0); $got = syscall(438, $fd, 3, 0); print $got < 0 ? "refused\\n" : "taken\\n"`;
      expect(await given.tryShell(ref, `perl -e '${take}'`)).toBe("refused\n");
      expect(
        await given.tryShell(ref, "perl -e 'open(F, q(+<), q(/proc/2/fd/3)) and print qq(taken); print qq(done)'"),
      ).toBe("done");
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
        .run(ref, { argv: ["sh", "-c", `kill -9 1; kill -9 ${SUPERVISOR}; kill -9 -1`] })
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
      const script = `sleep 0.2; kill -STOP ${SUPERVISOR}; exec sleep ${nap.replace(".", "''.")}`;
      await given.provider.startDetached(ref, { argv: ["sh", "-c", script] }, given.signal);
      await untilFact("it is stopped", () => isOnThisMachine(nap));
      expect(await given.provider.info(ref, given.signal)).toMatchObject({ state: "running", ended: [] });
      const limited = AbortSignal.timeout(500);
      await expect(given.provider.download(ref, "/etc/passwd", 1_000, limited)).rejects.toEqual(
        refusal("sandbox.unavailable"),
      );
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
