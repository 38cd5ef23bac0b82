/** Out of the sandbox: the host's files, processes, kernel and network. */
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { unique } from "../conformance/sandbox/given.ts";
import type { Attempt } from "./attempt.ts";

/** Numbers by architecture; each is refused whatever its arguments. */
const CALLS: Readonly<Record<string, Readonly<Partial<Record<NodeJS.Architecture, number>>>>> = {
  ptrace: { x64: 101, arm64: 117 },
  process_vm_readv: { x64: 310, arm64: 270 },
  pidfd_getfd: { x64: 438, arm64: 438 },
  unshare: { x64: 272, arm64: 97 },
  setns: { x64: 308, arm64: 268 },
  mount: { x64: 165, arm64: 40 },
  move_mount: { x64: 429, arm64: 429 },
  fsopen: { x64: 430, arm64: 430 },
  bpf: { x64: 321, arm64: 280 },
  keyctl: { x64: 250, arm64: 219 },
  add_key: { x64: 248, arm64: 217 },
  io_uring_setup: { x64: 425, arm64: 425 },
  userfaultfd: { x64: 323, arm64: 282 },
  perf_event_open: { x64: 298, arm64: 241 },
  init_module: { x64: 175, arm64: 105 },
  kexec_load: { x64: 246, arm64: 104 },
  open_by_handle_at: { x64: 304, arm64: 265 },
  reboot: { x64: 169, arm64: 142 },
  swapon: { x64: 167, arm64: 224 },
  personality: { x64: 135, arm64: 92 },
  name_to_handle_at: { x64: 303, arm64: 264 },
  fanotify_init: { x64: 300, arm64: 262 },
  clock_adjtime: { x64: 305, arm64: 266 },
  chroot: { x64: 161, arm64: 51 },
  process_madvise: { x64: 440, arm64: 440 },
};
const EPERM = 1;

export const REACH_HOST: readonly Attempt[] = [
  {
    title: "the host's /etc/shadow, homes, temporary files and data are not there",
    fails: async (given) => {
      const folder = await mkdtemp(join(tmpdir(), "drover-hostile-"));
      onTestFinished(() => rm(folder, { recursive: true, force: true }));
      await writeFile(join(folder, "secret"), "host secret", { mode: 0o644 });
      const said = await given.tryShell(
        await given.attacker(),
        `cat /etc/shadow /etc/gshadow /etc/sudoers ${folder}/secret /proc/1/root${folder}/secret /proc/*/root${folder}/secret /proc/*/cwd/../../${folder}/secret; ls /root /home /sys /boot /mnt /srv; find / -xdev -name secret 2>/dev/null`,
      );
      expect(said).not.toContain("host secret");
      expect(said).not.toMatch(/root:[*!$]/);
      expect(said).toMatch(/\/etc\/shadow: No such file/);
    },
  },
  {
    title: "another sandbox's files, processes and sockets are not there",
    fails: async (given) => {
      const [attacker, neighbour] = [await given.attacker(), await given.neighbour()];
      const word = unique("neighbour");
      await given.shell(neighbour, `echo ${word} > secret; echo ${word} > /tmp/secret; echo ${word} > ~/secret`);
      await given.provider.startDetached(neighbour, { argv: ["sleep", "86400", word] }, given.signal);
      const said = await given.tryShell(
        attacker,
        `cat /proc/*/cmdline /proc/*/environ; find /tmp /run /workspace /home /var /dev/shm -type f -exec cat {} + ; ls -la / /run/* ${"../".repeat(12)}workspace/..; cat /workspace/../../*/secret`,
      );
      expect(said).not.toContain(word);
    },
  },
  {
    title: "a socket of another sandbox cannot be connected to, by path, by a link or by an abstract name",
    fails: async (given) => {
      const [attacker, neighbour] = [await given.attacker(), await given.neighbour()];
      const serve = `const s = require("node:net").createServer((c) => c.end("reached the neighbour")); s.listen("\\0drover-abstract"); require("node:net").createServer((c) => c.end("reached the neighbour")).listen("/tmp/neighbour.sock", () => require("node:fs").writeFileSync("/tmp/ready", ""))`;
      await given.provider.startDetached(neighbour, { argv: ["node", "-e", serve] }, given.signal);
      await given.shell(neighbour, "while ! test -e /tmp/ready; do sleep 0.05; done");
      const theirs = given.provider.socketDirectory(neighbour) ?? "/nowhere";
      const paths = [
        "\\0drover-abstract",
        "/tmp/neighbour.sock",
        `${theirs}/api.sock`,
        "/proc/1/root/tmp/neighbour.sock",
        "/workspace/link.sock",
      ];
      await given.tryShell(attacker, `ln -sf ${theirs}/api.sock /workspace/link.sock`);
      const said = await given.tryNode(
        attacker,
        `for (const path of ${JSON.stringify(paths)}) require("node:net").connect(path.replace("\\\\0", "\\0")).on("error", (e) => console.log(e.code)).pipe(process.stdout)`,
      );
      expect(said).not.toContain("reached");
      expect(said.trim().split("\n")).toHaveLength(paths.length);
    },
  },
  {
    title: "the server's environment is nowhere to be read",
    fails: async (given) => {
      const word = unique("canary");
      process.env["DROVER_HOSTILE_CANARY"] = word;
      onTestFinished(() => void delete process.env["DROVER_HOSTILE_CANARY"]);
      const ref = await given.sandbox();
      const said = await given.tryShell(
        ref,
        "cat /proc/*/environ /proc/self/task/*/environ /proc/1/cmdline | tr '\\0' '\\n'; env; set",
      );
      expect(said).not.toContain(word);
      expect(said).not.toContain("VITEST");
    },
  },
  {
    title: "kernel settings cannot be written: core_pattern, sysrq, modprobe, uevent_helper",
    fails: async (given) => {
      const before = await readFile("/proc/sys/kernel/core_pattern", "utf8");
      const files = [
        "sys/kernel/core_pattern",
        "sys/kernel/modprobe",
        "sys/kernel/hostname",
        "sys/vm/overcommit_memory",
        "sysrq-trigger",
        "sys/net/ipv4/ip_forward",
        "sys/fs/suid_dumpable",
      ];
      const script = files
        .map(
          (file) =>
            `v=$(cat /proc/${file} 2>/dev/null || echo b); { printf %s "$v" > /proc/${file}; } 2>/dev/null && echo wrote ${file}`,
        )
        .join("\n");
      const said = await given.tryShell(
        await given.attacker(),
        `${script}\nmount -t proc proc /tmp; mount -o remount,rw /proc/sys; umount /proc/sys; echo done`,
      );
      expect(said).not.toContain("wrote");
      expect(said).toContain("done");
      expect(await readFile("/proc/sys/kernel/core_pattern", "utf8")).toBe(before);
    },
  },
  {
    title: "system programs and the runtime's own files cannot be changed",
    fails: async (given) => {
      const files = given.ground.fixed.join(" ");
      const said = await given.tryShell(
        await given.attacker(),
        `for f in ${files}; do test -e $f && echo found; done; for f in ${files} /etc/ld.so.preload; do { echo x >> $f; } 2>/dev/null && echo wrote $f; chmod u+w $f 2>/dev/null && echo changed $f; rm -f $f 2>/dev/null && test ! -e $f && test $f != /etc/ld.so.preload && echo removed $f; mv /workspace/x $f 2>/dev/null && echo moved $f; done; mkdir /new 2>/dev/null && echo made /new; echo done`,
      );
      expect(said).toBe(`${"found\n".repeat(given.ground.fixed.length)}done\n`);
    },
  },
  {
    title: "calls to more kernel than an agent needs are refused",
    fails: async (given) => {
      const numbers = Object.entries(CALLS).flatMap(([name, by]) => {
        const number = by[process.arch];
        return number === undefined ? [] : [{ name, number }];
      });
      const lines = numbers.map(
        ({ name, number }) => `$! = 0; syscall(${number}, 0, 0, 0, 0, 0); print "${name} ", $! + 0, "\\n";`,
      );
      const said = await given.tryShell(await given.attacker(), `perl -e '${lines.join("\n")}'`);
      expect(said.trim().split("\n")).toEqual(numbers.map(({ name }) => `${name} ${EPERM}`));
    },
  },
  {
    title: "raw, packet, vsock and kernel-crypto sockets cannot be opened",
    fails: async (given) => {
      // family, type, protocol: raw IPv4, raw IPv6, packet, vsock, alg, key, bluetooth, netlink for audit
      const kinds = [
        [2, 3, 1],
        [10, 3, 58],
        [17, 3, 768],
        [40, 1, 0],
        [38, 5, 0],
        [15, 3, 2],
        [31, 3, 1],
        [44, 3, 0],
      ];
      const lines = kinds.map(
        ([family, type, protocol]) => `socket(S, ${family}, ${type}, ${protocol}) and print "opened ${family}\\n";`,
      );
      expect(await given.tryShell(await given.attacker(), `perl -e '${lines.join(" ")} print "done\\n"'`)).toBe(
        "done\n",
      );
    },
  },
  {
    title: "a server on the host's loopback and the host's own addresses are not reached",
    fails: async (given) => {
      let visits = 0;
      const canary = createServer((socket) => ((visits += 1), socket.end("reached the host")));
      canary.listen(0, "0.0.0.0");
      await once(canary, "listening");
      onTestFinished(() => void canary.close());
      const { port } = canary.address() as AddressInfo;
      const own = Object.values(networkInterfaces()).flatMap((found) => (found ?? []).map(({ address }) => address));
      const hosts = [
        ...new Set([
          "127.0.0.1",
          "::1",
          "0.0.0.0",
          "::ffff:127.0.0.1",
          "10.0.2.2",
          "169.254.169.254",
          "localhost",
          ...own,
        ]),
      ];
      const said = await given.tryNode(
        await given.attacker(),
        `for (const host of ${JSON.stringify(hosts)}) require("node:net").connect({ host, port: ${port} }).on("error", () => console.log("refused")).setTimeout(3000, function () { this.destroy(new Error()); }).pipe(process.stdout)`,
      );
      expect(said).not.toContain("reached");
      expect(visits).toBe(0);
    },
  },
];
