/** A deny list of system calls as a classic BPF program, for `bwrap --seccomp`. Everything that is known and not named stays allowed. */
import { DENIED, FAMILIES, LAST_KNOWN } from "../system-calls.ts";

const SOCKET_CALLS = { socket: { x64: 41, arm64: 198 }, socketpair: { x64: 53, arm64: 199 } } as const;

const LOAD = 0x20;
const JUMP_EQUAL = 0x15;
const JUMP_GREATER_EQUAL = 0x35;
const RETURN = 0x06;
const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
const EPERM = 0x00050001;
const ENOSYS = 0x00050026;
const EAFNOSUPPORT = 0x00050061;
/** Offsets into struct seccomp_data. */
const NUMBER_OFFSET = 0;
const ARCH_OFFSET = 4;
const FIRST_ARGUMENT_OFFSET = 16;
/** x86-64 system calls of the x32 ABI would slip past the numbers above. */
const X32_BIT = 0x40000000;

const ARCHES = { x64: 0xc000003e, arm64: 0xc00000b7 } as const;
type Arch = keyof typeof ARCHES;

function instruction(code: number, jumpTrue: number, jumpFalse: number, value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(code, 0);
  bytes[2] = jumpTrue;
  bytes[3] = jumpFalse;
  bytes.writeUInt32LE(value >>> 0, 4);
  return bytes;
}

/** `undefined` on a machine whose numbers we do not have. */
export function buildSeccompFilter(arch: string): Buffer | undefined {
  if (arch !== "x64" && arch !== "arm64") return undefined;
  const known: Arch = arch;
  const refuse = (number: number) => [instruction(JUMP_EQUAL, 0, 1, number), instruction(RETURN, 0, 0, EPERM)];
  /** Ends in a verdict or is jumped over, so that the number stays loaded for what follows. */
  const refuseFamilies = (number: number) => [
    instruction(JUMP_EQUAL, 0, FAMILIES.length + 3, number),
    instruction(LOAD, 0, 0, FIRST_ARGUMENT_OFFSET),
    ...FAMILIES.map((family, index) => instruction(JUMP_EQUAL, FAMILIES.length - index, 0, family)),
    instruction(RETURN, 0, 0, EAFNOSUPPORT),
    instruction(RETURN, 0, 0, ALLOW),
  ];
  return Buffer.concat([
    instruction(LOAD, 0, 0, ARCH_OFFSET),
    instruction(JUMP_EQUAL, 1, 0, ARCHES[known]),
    instruction(RETURN, 0, 0, KILL),
    instruction(LOAD, 0, 0, NUMBER_OFFSET),
    ...(known === "x64" ? [instruction(JUMP_GREATER_EQUAL, 0, 1, X32_BIT), instruction(RETURN, 0, 0, ENOSYS)] : []),
    instruction(JUMP_GREATER_EQUAL, 0, 1, LAST_KNOWN + 1),
    instruction(RETURN, 0, 0, ENOSYS),
    ...Object.values(DENIED).flatMap(({ [known]: number }) => (number === undefined ? [] : refuse(number))),
    ...Object.values(SOCKET_CALLS).flatMap((numbers) => refuseFamilies(numbers[known])),
    instruction(RETURN, 0, 0, ALLOW),
  ]);
}
