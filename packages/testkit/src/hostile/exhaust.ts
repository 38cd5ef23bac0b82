/** Bombs: processes, memory, disk, files, descriptors, and what wants to live on. */
import { existsSync } from "node:fs";
import { expect } from "vitest";
import { LIMITS, isOnThisMachine, refusal, uniqueNap, untilFact } from "../conformance/sandbox/given.ts";
import type { Attempt } from "./attempt.ts";

const MIB = 1024 * 1024;

export const EXHAUST: readonly Attempt[] = [
  {
    title: "a fork bomb stays in its sandbox, and its neighbour and its own destruction do not wait for it",
    fails: async (given) => {
      const ref = await given.provider.ensure(given.spec({ limits: { ...LIMITS, processes: 64 } }), given.signal);
      const nap = uniqueNap();
      const bomb = `b() { b | b & }; b; while :; do sleep ${nap} & done`;
      await given.provider.startDetached(ref, { argv: ["bash", "-c", bomb] }, given.signal);
      await untilFact("it goes off", () => isOnThisMachine(nap));
      await given.expectAlive(await given.attacker());
      const info = await given.provider.info(ref, given.signal);
      expect(info?.usage.processes ?? 1).toBeLessThanOrEqual(64 + 8);
      await given.provider.destroy(ref, given.signal);
      expect(isOnThisMachine(nap)).toBe(false);
    },
  },
  {
    title: "a memory bomb of many processes and of shared memory stays within the limit",
    fails: async (given) => {
      const ref = await given.sandbox();
      const hold = `node -e 'const a = []; for (;;) a.push(Buffer.alloc(16 * ${MIB}, 1))'`;
      const said = await given
        .run(ref, {
          argv: ["sh", "-c", `for i in 1 2 3; do ${hold} & done; head -c 200M /dev/zero > /dev/shm/x; wait; echo over`],
          timeoutMs: 15_000,
        })
        .catch(() => undefined);
      const info = await given.provider.info(ref, given.signal);
      expect(info?.usage.memoryBytes ?? 0).toBeLessThanOrEqual(LIMITS.memoryBytes * 2);
      expect(said === undefined || info?.isOomKilled === true || said.exit.isTimedOut).toBe(true);
      await given.expectAlive(await given.attacker());
    },
  },
  {
    title: "a full disk is the sandbox's own: it is told or stopped, and no other feels it",
    fails: async (given) => {
      const ref = await given.sandbox({ limits: { ...LIMITS, diskBytes: 64 * MIB } });
      const fill =
        "i=0; while [ $i -lt 40 ]; do head -c 8M /dev/zero > fill$i || break; i=$((i+1)); done; du -sm . | cut -f1";
      const filled = await given.run(ref, { argv: ["sh", "-c", fill], cwd: "/workspace" }).catch(() => undefined);
      if (filled?.exit.code === 0 && Number(filled.stdout.toString()) <= 65)
        expect(filled.stderr.toString()).toContain("No space");
      else
        await untilFact(
          "it is stopped",
          async () => (await given.provider.info(ref, given.signal))?.state === "stopped",
        );
      await given.expectAlive(await given.attacker());
    },
  },
  {
    title: "a huge sparse file is no huge file, and neither a download nor a snapshot grows by it",
    fails: async (given) => {
      const ref = await given.sandbox();
      expect(await given.tryShell(ref, "truncate -s 8T /workspace/huge && echo made")).not.toContain("made");
      await given.shell(
        ref,
        `truncate -s ${LIMITS.diskBytes - MIB} /workspace/sparse; for i in 1 2 3 4 5 6; do truncate -s ${LIMITS.diskBytes - MIB} /workspace/sparse$i; done`,
      );
      const download = given.provider.download(ref, "/workspace/sparse", 10 * MIB, given.signal);
      await expect(download).rejects.toEqual(refusal("sandbox.rejected"));
      if (given.provider.capabilities.snapshot) {
        // Holes stay holes, or it is refused; never are they written out.
        const saved = given.provider.snapshot(ref, "sparse-files", given.signal).then(
          ({ snapshot }) => snapshot,
          ({ code }: { readonly code: string }) => code,
        );
        expect(await saved).toBeOneOf(["sparse-files", "sandbox.rejected"]);
      }
      // Whoever counts holes as bytes may have stopped it by now, and says so.
      await given.expectAlive(ref).catch(async (error: unknown) => {
        const info = await given.provider.info(ref, given.signal);
        if (info?.state !== "stopped" || !/its files took \d+ bytes/.test(info.reason ?? "")) throw error;
      });
    },
  },
  {
    title: "a tree deeper than any path, with directories that nobody may enter, is removed with its sandbox",
    fails: async (given) => {
      const ref = await given.provider.ensure(given.spec(), given.signal);
      const program = `for (let i = 0; i < 3000; i += 1) { const name = "d".repeat(40); require("node:fs").mkdirSync(name); process.chdir(name); } require("node:fs").writeFileSync("leaf", "x")`;
      await given.run(ref, { argv: ["node", "-e", program], cwd: "/workspace" });
      await given.shell(
        ref,
        "mkdir -p locked/in; touch locked/in/file; chmod 000 locked/in locked; i=0; while [ $i -lt 2000 ]; do : > file$i; i=$((i+1)); done",
      );
      expect((await given.provider.listFiles(ref, "/workspace", given.signal)).length).toBeGreaterThan(2_000);
      const directory = given.provider.socketDirectory(ref);
      await given.provider.destroy(ref, given.signal);
      expect(await given.provider.info(ref, given.signal)).toBeUndefined();
      if (directory !== undefined) expect(existsSync(directory)).toBe(false);
    },
  },
  {
    title: "nothing outlives destroy: double forks, new sessions, ignored signals, stopped and renamed processes",
    fails: async (given) => {
      const ref = await given.provider.ensure(given.spec(), given.signal);
      const naps = [uniqueNap(), uniqueNap(), uniqueNap(), uniqueNap()];
      const [a, b, c, d] = naps;
      await given.shell(
        ref,
        `(setsid sh -c '(trap "" TERM HUP INT QUIT; sleep ${a}) & (nohup setsid sleep ${b} >/dev/null 2>&1 &) ' &) ; (setsid sh -c 'sleep ${c} & kill -STOP $!; wait' >/dev/null 2>&1 &) ; (setsid bash -c 'trap "" TERM; exec -a init sleep ${d}' >/dev/null 2>&1 &)`,
      );
      await untilFact("all run", () => naps.every(isOnThisMachine));
      await given.provider.destroy(ref, given.signal);
      expect(naps.filter(isOnThisMachine)).toEqual([]);
    },
  },
  {
    title: "a flood of output is taken at the reader's pace, and its command ends with the reader",
    fails: async (given) => {
      const ref = await given.attacker();
      let size = 0;
      for await (const event of given.provider.exec(ref, { argv: ["yes", "x".repeat(10_000)] }, given.signal)) {
        if (event.type === "stdout") size += event.chunk.length;
        if (size > 20 * MIB) break;
      }
      expect(size).toBeGreaterThan(20 * MIB);
      await given.expectAlive(ref);
    },
  },
];
