/** Proves in a throw-away sandbox that the isolation holds on this machine, because a kernel may refuse silently. */
import { AppError } from "@drover/contract";

/** Each line is `name value`; a name that is missing is a check that was not made. */
const SCRIPT = `
pattern=$(cat /proc/sys/kernel/core_pattern)
{ printf %s "$pattern" > /proc/sys/kernel/core_pattern; } 2>/dev/null && echo core_pattern written || echo core_pattern refused
{ echo 0 > /proc/sysrq-trigger; } 2>/dev/null && echo sysrq written || echo sysrq refused
test -e /etc/shadow && echo shadow visible || echo shadow hidden
test -e "$1" && echo data visible || echo data hidden
echo interfaces $(sed -n 's/^ *\\([^:|]*\\):.*/\\1/p' /proc/net/dev | grep -vE '^(lo|tunl|gre|erspan|ip_vti|ip6|sit)' | wc -l)
sed -n 's/^\\(CapEff\\|CapPrm\\|CapBnd\\|NoNewPrivs\\|Seccomp\\):[[:space:]]*/\\1 /p' /proc/self/status
unshare -U true 2>/dev/null && echo userns made || echo userns refused
echo environ $(tr '\\0' '\\n' < /proc/1/environ | grep -vx 'SHLVL=[0-9]' | wc -c)
echo supervisor $(head -c 1 /proc/2/environ 2>/dev/null | wc -c)
`;

export const toSelfTestArgv = (dataDirectory: string): readonly [string, ...string[]] => [
  "/bin/sh",
  "-c",
  SCRIPT,
  "sh",
  dataDirectory,
];

interface Check {
  readonly name: string;
  readonly expected: RegExp;
  readonly meaning: string;
  readonly fix: string;
}

const NONE = /^0+$/;
const UPDATE = "update bubblewrap and the kernel";
const CHECKS: readonly Check[] = [
  { name: "core_pattern", expected: /^refused$/, meaning: "a sandbox can write the host's core_pattern", fix: UPDATE },
  { name: "sysrq", expected: /^refused$/, meaning: "a sandbox can write the host's sysrq-trigger", fix: UPDATE },
  { name: "shadow", expected: /^hidden$/, meaning: "a sandbox sees the host's /etc/shadow", fix: UPDATE },
  {
    name: "data",
    expected: /^hidden$/,
    meaning: "a sandbox sees the data directory",
    fix: "move the data directory out of /usr, /opt/drover, /tmp and /run",
  },
  {
    name: "interfaces",
    expected: NONE,
    meaning: "a sandbox has a network interface besides loopback",
    fix: "allow network namespaces (sysctl user.max_net_namespaces)",
  },
  { name: "CapEff", expected: NONE, meaning: "a sandbox has effective capabilities", fix: UPDATE },
  { name: "CapPrm", expected: NONE, meaning: "a sandbox has permitted capabilities", fix: UPDATE },
  { name: "CapBnd", expected: NONE, meaning: "a sandbox can be given capabilities", fix: UPDATE },
  { name: "NoNewPrivs", expected: /^1$/, meaning: "a sandbox can gain privileges by exec", fix: UPDATE },
  {
    name: "Seccomp",
    expected: /^2$/,
    meaning: "the filter of system calls is not active",
    fix: "use a kernel with CONFIG_SECCOMP_FILTER, on x64 or arm64",
  },
  {
    name: "userns",
    expected: /^refused$/,
    meaning: "a sandbox can make user namespaces",
    fix: "use bubblewrap 0.8 or newer",
  },
  { name: "environ", expected: NONE, meaning: "a sandbox can read the environment of a process outside", fix: UPDATE },
  {
    name: "supervisor",
    expected: NONE,
    meaning: "a sandbox can look into its supervisor",
    fix: "set sysctl fs.suid_dumpable to 0",
  },
  {
    name: "kernel_uid",
    expected: /^[1-9]\d*$/,
    meaning: "processes of a sandbox have the kernel uid 0",
    fix: "use util-linux with setpriv",
  },
];

export interface SelfTestFacts {
  readonly output: string;
  /** The lowest uid of a process in it, by the kernel's own count. */
  readonly kernelUid: number;
}

/** Undefined when everything holds, else what does not. */
export function decideIsolation({ output, kernelUid }: SelfTestFacts): string | undefined {
  const found = new Map<string, string>(
    output
      .split("\n")
      .map((line) => /^(\S+) (.*)$/.exec(line))
      .flatMap((match) => (match === null ? [] : [[match[1] ?? "", (match[2] ?? "").trim()] as const])),
  );
  found.set("kernel_uid", String(kernelUid));
  const failed = CHECKS.filter(({ name, expected }) => !expected.test(found.get(name) ?? ""));
  if (failed.length === 0) return undefined;
  return failed
    .map(({ name, meaning, fix }) => `${meaning} (${name} is ${found.get(name) ?? "unknown"}); ${fix}`)
    .join(". ");
}

export function requireIsolation(facts: SelfTestFacts): void {
  const problem = decideIsolation(facts);
  if (problem !== undefined)
    throw new AppError("provider.unavailable", `sandboxes on this machine would not be isolated: ${problem}`);
}
