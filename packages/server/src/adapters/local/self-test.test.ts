import { execFileSync } from "node:child_process";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openLocal } from "../../../../testkit/src/hostile/open-local.ts";
import {
  collect,
  isOnThisMachine,
  LIMITS,
  unique,
  uniqueNap,
  untilFact,
} from "../../../../testkit/src/conformance/sandbox/given.ts";
import { decideIsolation, requireIsolation, toSelfTestArgv } from "./self-test.ts";

const HOLDS = `core_pattern refused
sysrq refused
shadow hidden
data hidden
interfaces 0
CapPrm 0000000000000000
CapEff 0000000000000000
CapBnd 0000000000000000
NoNewPrivs 1
Seccomp 2
userns refused
environ 0
supervisor 0
`;

test("a machine on which everything holds passes", () => {
  expect(decideIsolation({ output: HOLDS, kernelUid: 20_000 })).toBeUndefined();
});

describe("whatever does not hold is refused with its name and what to do", () => {
  test.for([
    ["core_pattern refused", "core_pattern written", "core_pattern"],
    ["shadow hidden", "shadow visible", "/etc/shadow"],
    ["data hidden", "data visible", "data directory"],
    ["interfaces 0", "interfaces 1", "network interface"],
    ["CapEff 0000000000000000", "CapEff 000001ffffffffff", "effective capabilities"],
    ["NoNewPrivs 1", "NoNewPrivs 0", "gain privileges"],
    ["Seccomp 2", "Seccomp 0", "filter of system calls"],
    ["userns refused", "userns made", "user namespaces"],
    ["environ 0", "environ 512", "environment"],
    ["supervisor 0", "supervisor 1", "its supervisor"],
    ["userns refused\n", "", "user namespaces"],
  ] as const)("%s -> %s", ([good, bad, word]) => {
    expect(() => requireIsolation({ output: HOLDS.replace(good, bad), kernelUid: 20_000 })).toThrow(
      expect.objectContaining({ code: "provider.unavailable", message: expect.stringContaining(word) }),
    );
  });

  test("kernel uid 0, and a script that said nothing", () => {
    expect(decideIsolation({ output: HOLDS, kernelUid: 0 })).toContain("kernel uid 0");
    expect(decideIsolation({ output: "", kernelUid: 1 })).toContain("unknown");
  });
});

test("outside of a sandbox the same script finds what is wrong", async () => {
  const [program, ...args] = toSelfTestArgv("/");
  // Not root's: the script writes what it reads, but only where nothing is isolated.
  const script = args.map((arg) =>
    arg.replaceAll("/proc/sys/kernel/core_pattern", "/dev/null").replace("/proc/sysrq-trigger", "/dev/null"),
  );
  const output = execFileSync(program, script, { encoding: "utf8" });
  expect(decideIsolation({ output, kernelUid: process.getuid?.() ?? 0 })).toContain("data directory");
});

test("a bubblewrap that isolates nothing is found out before a sandbox is made", async () => {
  const folder = await mkdtemp(join(tmpdir(), "drover-bwrap-"));
  await chmod(folder, 0o755);
  const bubblewrap = join(folder, "bwrap");
  // Leaves out what keeps it apart: the network namespace and the filter.
  await writeFile(
    bubblewrap,
    `#!/bin/bash\nargs=()\nwhile [ $# -gt 0 ]; do case "$1" in --unshare-net) ;; --seccomp) shift ;; *) args+=("$1") ;; esac; shift; done\nexec /usr/bin/bwrap "\${args[@]}"\n`,
  );
  await chmod(bubblewrap, 0o755);
  const { provider, close } = await openLocal({ bubblewrap });
  const key = unique("leaky");
  const made = provider.ensure({ key, labels: {}, limits: LIMITS, env: {} }, new AbortController().signal);
  await expect(made).rejects.toMatchObject({
    code: "provider.unavailable",
    message: expect.stringMatching(/filter of system calls/),
  });
  expect(await provider.list({}, new AbortController().signal)).toEqual([]);
  await close();
  await rm(folder, { recursive: true, force: true });
});

test("a provider without bubblewrap refuses, unless it is told to be unsafe, and then says so", async () => {
  const bubblewrap = "/nonexistent/bwrap";
  await expect(openLocal({ bubblewrap })).rejects.toMatchObject({ code: "provider.unavailable" });
  const warnings: string[] = [];
  const log = {
    debug: () => undefined,
    info: () => undefined,
    error: () => undefined,
    warn: (_: string, more?: object) => void warnings.push(JSON.stringify(more)),
  };
  const { provider, close } = await openLocal({ bubblewrap, isUnsafe: true, log });
  expect(warnings.join()).toContain("UNSAFE");
  expect(provider.capabilities).toMatchObject({ socketDirectory: false, egressPolicy: false, snapshot: false });
  const signal = new AbortController().signal;
  const key = unique("plain");
  const ref = await provider.ensure({ key, labels: {}, limits: LIMITS, env: { GIVEN: "/workspace/here" } }, signal);
  const run = async (script: string) => {
    const { stdout, stderr, exit } = await collect(provider.exec(ref, { argv: ["sh", "-c", script] }, signal));
    return { said: stdout.toString() + stderr.toString(), code: exit.code };
  };
  expect(await provider.info(ref, signal)).toMatchObject({
    state: "running",
    enforcedBy: { isolation: "unsafe", network: "none" },
  });
  expect((await run("pwd")).said).toMatch(/workspace\n$/);
  expect((await run("echo $GIVEN")).said).toMatch(/workspace\/here\n$/);
  expect((await run("id -u; grep NoNewPrivs /proc/self/status")).said).not.toMatch(/^0\n/);
  expect((await run("env")).said).not.toContain("VITEST");
  await provider.upload(ref, "/workspace/note", Buffer.from("kept"), {}, signal);
  expect((await run("cat note")).said).toBe("kept");
  expect(Buffer.from(await provider.download(ref, "note", 100, signal)).toString()).toBe("kept");
  const nap = uniqueNap();
  await run(`(setsid sh -c 'trap "" TERM HUP; sleep ${nap}; :' >/dev/null 2>&1 &)`);
  await untilFact("it runs", () => isOnThisMachine(nap));
  await provider.destroy(ref, signal);
  expect(isOnThisMachine(nap)).toBe(false);
  await close();
});
