/** The filter of system calls of a container, as engines take it: what is not named is refused, also what newer kernels bring. */
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ALLOWED, FAMILIES } from "../system-calls.ts";
import type { Engine } from "./connection.ts";

const ENOSYS = 38;
/** Flags of `clone` that ask for a namespace. */
const NEW_NAMESPACES = 0x7e020000;

interface Rule {
  readonly names: readonly string[];
  readonly action: "SCMP_ACT_ALLOW" | "SCMP_ACT_ERRNO";
  readonly errnoRet?: number;
  readonly args?: readonly {
    readonly index: number;
    readonly value: number;
    readonly valueTwo?: number;
    readonly op: "SCMP_CMP_EQ" | "SCMP_CMP_MASKED_EQ";
  }[];
}

const RULES: readonly Rule[] = [
  { names: ALLOWED, action: "SCMP_ACT_ALLOW" },
  {
    names: ["clone"],
    action: "SCMP_ACT_ALLOW",
    args: [{ index: 0, value: NEW_NAMESPACES, valueTwo: 0, op: "SCMP_CMP_MASKED_EQ" }],
  },
  // Its flags stand in memory, which no filter can read; who is told that there is none uses `clone`.
  { names: ["clone3"], action: "SCMP_ACT_ERRNO", errnoRet: ENOSYS },
  ...FAMILIES.map((family): Rule => ({
    names: ["socket", "socketpair"],
    action: "SCMP_ACT_ALLOW",
    args: [{ index: 0, value: family, op: "SCMP_CMP_EQ" }],
  })),
];

/** The engine takes the entry of its own machine. Calls of another architecture, such as 32-bit ones, end who makes them. */
const ARCHITECTURES = ["SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64"];

const PROFILE = JSON.stringify({
  defaultAction: "SCMP_ACT_ERRNO",
  defaultErrnoRet: 1,
  archMap: ARCHITECTURES.map((architecture) => ({ architecture, subArchitectures: [] })),
  syscalls: RULES,
});

/** Docker takes the text, Podman a file of its own machine: one that is elsewhere keeps its own filter. */
export async function ensureProfile({ isPodman }: Engine, base: string | undefined): Promise<string | undefined> {
  if (!isPodman) return PROFILE;
  if (base === undefined) return undefined;
  const path = join(base, "seccomp.json");
  await mkdir(base, { recursive: true });
  await writeFile(`${path}.new`, PROFILE);
  await rename(`${path}.new`, path);
  return path;
}
