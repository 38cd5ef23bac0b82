/** Limits: what is told, and that it is true. */
import { existsSync } from "node:fs";
import { expect } from "vitest";
import { exited, LIMITS, uniqueNap, untilFact, type ProviderPromise } from "./given.ts";

const PROCESSES = 64;

export const LIMIT_PROMISES: readonly ProviderPromise[] = [
  {
    title: "info tells the limits, who enforces them, and what is used",
    keep: async (given) => {
      const ref = await given.sandbox();
      const info = await given.provider.info(ref, given.signal);
      expect(info).toMatchObject({ state: "running", reason: null, isOomKilled: false, limits: LIMITS, ended: [] });
      expect(Object.keys(info?.enforcedBy ?? {}).toSorted()).toEqual([
        "cpu",
        "disk",
        "isolation",
        "memory",
        "network",
        "processes",
      ]);
      expect(info?.usage.memoryBytes ?? 1).toBeGreaterThan(0);
      expect(info?.usage.memoryBytes ?? 1).toBeLessThanOrEqual(LIMITS.memoryBytes);
      expect(info?.usage.processes ?? 1).toBeGreaterThan(0);
      expect(info?.usage.processes ?? 1).toBeLessThanOrEqual(LIMITS.processes);
    },
  },
  {
    title: "commands are nobody: no root, no capabilities, no new privileges",
    keep: async (given) => {
      const ref = await given.sharedSandbox();
      expect(Number(await given.shell(ref, "id -u"))).toBeGreaterThan(0);
      const status = await given.shell(ref, "cat /proc/self/status");
      expect(status).toMatch(/^CapEff:\t0+$/m);
      expect(status).toMatch(/^CapBnd:\t0+$/m);
      expect(status).toMatch(/^NoNewPrivs:\t1$/m);
    },
  },
  {
    title: "a memory bomb is killed, it is told by a counter, and the sandbox goes on",
    keep: async (given) => {
      const ref = await given.sandbox();
      const bomb = await given.run(ref, { argv: ["tail", "/dev/zero"] });
      expect(bomb.exit).toEqual({ ...exited(0), code: null, signal: "SIGKILL", isOomKilled: true });
      // The command itself ends well here: only a counter can tell.
      const hidden = await given.run(ref, { argv: ["sh", "-c", "tail /dev/zero; exit 0"] });
      expect(hidden.exit).toEqual({ ...exited(0), isOomKilled: true });
      const after = await given.run(ref, { argv: ["echo", "alive"] });
      expect(after.exit).toEqual(exited(0));
      expect(await given.provider.info(ref, given.signal)).toMatchObject({ state: "running", isOomKilled: true });
    },
  },
  {
    title: "a fork bomb stops at the limit, a timeout ends it, and the sandbox answers",
    keep: async (given) => {
      const ref = await given.sandbox({ limits: { ...LIMITS, processes: PROCESSES } });
      // Bounded, so that it does no harm where nothing stops it. A shell that cannot fork ends; the last line waits for the kill.
      const count = `n=0; while [ $n -lt 1000 ]; do sleep ${uniqueNap()} & n=$((n+1)); echo $n > count; done`;
      const script = `(${count}); exec tail -f /dev/null`;
      const bomb = await given.run(ref, { argv: ["sh", "-c", script], cwd: "/workspace", timeoutMs: 3_000 });
      expect(bomb.exit).toMatchObject({ signal: "SIGKILL", isTimedOut: true });
      await untilFact("the sandbox answers", async () => {
        const answer = await given.run(ref, { argv: ["echo", "alive"] }).catch(() => undefined);
        return answer?.stdout.toString() === "alive\n";
      });
      const started = Number(await given.shell(ref, "cat count"));
      expect(started).toBeGreaterThan(PROCESSES / 4);
      expect(started).toBeLessThanOrEqual(PROCESSES);
    },
  },
  {
    title: "nothing but loopback is there when the network is enforced",
    keep: async (given) => {
      const ref = await given.sharedSandbox();
      const info = await given.provider.info(ref, given.signal);
      if (info?.enforcedBy.network === "none" || info?.enforcedBy.network === "unsafe") return;
      const devices = (await given.shell(ref, "cat /proc/net/dev")).split("\n").slice(2);
      const names = devices.flatMap((line) => /^\s*([^:\s]+):/.exec(line)?.[1] ?? []);
      expect(names.filter((name) => !/^(?:lo|tunl|gre|gretap|erspan|ip_vti|ip6|sit)/.test(name))).toEqual([]);
    },
  },
  {
    title: "the socket directory is there on both sides while the sandbox is",
    needs: "socketDirectory",
    keep: async (given) => {
      const ref = await given.sandbox();
      const directory = given.provider.socketDirectory(ref);
      if (directory === undefined) throw new Error("the provider names no socket directory");
      expect(existsSync(directory)).toBe(true);
      expect(await given.shell(ref, "test -d /run/cp && echo there")).toBe("there\n");
      expect((await given.run(ref, { argv: ["touch", "/run/cp/planted"] })).exit.code).not.toBe(0);
      await given.provider.destroy(ref, given.signal);
      expect(existsSync(directory)).toBe(false);
    },
  },
  {
    title: "a program inside reaches the server's socket in it",
    needs: "socketDirectory",
    keep: async (given) => {
      const { createServer } = await import("node:net");
      const { chmod } = await import("node:fs/promises");
      const ref = await given.sandbox();
      const server = createServer((socket) => socket.end("hello from outside"));
      const path = `${given.provider.socketDirectory(ref)}/api.sock`;
      await new Promise<void>((resolve, reject) => server.once("error", reject).listen(path, resolve));
      try {
        await chmod(path, 0o666);
        const program = 'require("node:net").connect("/run/cp/api.sock").pipe(process.stdout)';
        const outcome = await given.run(ref, { argv: ["node", "-e", program] });
        expect({ ...outcome, stderr: outcome.stderr.toString(), stdout: outcome.stdout.toString() }).toEqual({
          stdout: "hello from outside",
          stderr: "",
          exit: exited(0),
        });
      } finally {
        await new Promise<void>((resolve) => server.close(() => resolve()));
      }
    },
  },
];
