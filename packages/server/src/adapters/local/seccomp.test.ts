/** The filter of system calls, run as the kernel runs it.
 *  Broken on purpose, each seen here: calls of another architecture let through; calls newer than the table and the x32 numbers let through. */
import { describe, expect, test } from "vitest";
import { DENIED, FAMILIES, LAST_KNOWN } from "../system-calls.ts";
import { buildSeccompFilter } from "./seccomp.ts";

const VERDICTS: Readonly<Record<number, string>> = {
  0x7fff0000: "allowed",
  0x80000000: "killed",
  0x00050001: "EPERM",
  0x00050026: "ENOSYS",
  0x00050061: "EAFNOSUPPORT",
};
const ARCHES = { x64: 0xc000003e, arm64: 0xc00000b7 } as const;
const I386 = 0x40000003;
const X32_BIT = 0x40000000;

/** Classic BPF: load a word, jump if equal or not less, return. */
function judge(program: Buffer, data: Readonly<Record<number, number>>): string {
  let loaded = 0;
  for (let at = 0; at < program.length / 8; at += 1) {
    const code = program.readUInt16LE(at * 8);
    const value = program.readUInt32LE(at * 8 + 4);
    const jump = (isTrue: boolean) => (at += program[at * 8 + (isTrue ? 2 : 3)] ?? 0);
    if (code === 0x20) loaded = data[value] ?? 0;
    else if (code === 0x15) jump(loaded === value);
    else if (code === 0x35) jump(loaded >= value);
    else if (code === 0x06) return VERDICTS[value] ?? `unknown ${value}`;
    else throw new Error(`no instruction: ${code}`);
  }
  return "fell out";
}

describe.for(["x64", "arm64"] as const)("%s", (arch) => {
  const filter = buildSeccompFilter(arch) ?? Buffer.alloc(0);
  const call = (number: number, first = 0, machine: number = ARCHES[arch]) =>
    judge(filter, { 0: number, 4: machine, 16: first });

  test("what is in the table is refused, and what agents need is not", () => {
    for (const [name, { [arch]: number }] of Object.entries(DENIED))
      if (number !== undefined) expect(call(number), name).toBe("EPERM");
    // read, openat, clone, execve.
    for (const number of arch === "x64" ? [0, 257, 56, 59] : [63, 56, 220, 221]) expect(call(number)).toBe("allowed");
  });

  test("calls of another machine end the process, and those that are newer or numbered otherwise do not exist", () => {
    expect(call(0, 0, I386)).toBe("killed");
    expect(call(0, 0, ARCHES[arch === "x64" ? "arm64" : "x64"])).toBe("killed");
    expect(call(LAST_KNOWN)).not.toBe("ENOSYS");
    for (const number of [LAST_KNOWN + 1, X32_BIT, X32_BIT + 59, 0xffffffff]) expect(call(number)).toBe("ENOSYS");
  });

  test("sockets are of the families that are named, pairs too", () => {
    for (const number of arch === "x64" ? [41, 53] : [198, 199]) {
      for (const family of FAMILIES) expect(call(number, family)).toBe("allowed");
      for (const family of [15, 17, 31, 38, 40, 44]) expect(call(number, family)).toBe("EAFNOSUPPORT");
    }
  });
});

test("a machine whose numbers we do not have gets no filter, which the self-test then finds", () => {
  expect(buildSeccompFilter("riscv64")).toBeUndefined();
});
