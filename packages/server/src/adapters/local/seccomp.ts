/** A deny list of system calls as a classic BPF program, for `bwrap --seccomp`. Everything not named stays allowed. */

/** Ways to more kernel than an agent needs. `clone3` is not here: refusing it breaks thread creation in some runtimes. */
const DENIED: Readonly<Record<string, { readonly x64: number; readonly arm64: number }>> = {
  ptrace: { x64: 101, arm64: 117 },
  process_vm_readv: { x64: 310, arm64: 270 },
  process_vm_writev: { x64: 311, arm64: 271 },
  add_key: { x64: 248, arm64: 217 },
  request_key: { x64: 249, arm64: 218 },
  keyctl: { x64: 250, arm64: 219 },
  bpf: { x64: 321, arm64: 280 },
  perf_event_open: { x64: 298, arm64: 241 },
  userfaultfd: { x64: 323, arm64: 282 },
  io_uring_setup: { x64: 425, arm64: 425 },
  io_uring_enter: { x64: 426, arm64: 426 },
  io_uring_register: { x64: 427, arm64: 427 },
  mount: { x64: 165, arm64: 40 },
  umount2: { x64: 166, arm64: 39 },
  pivot_root: { x64: 155, arm64: 41 },
  move_mount: { x64: 429, arm64: 429 },
  open_tree: { x64: 428, arm64: 428 },
  fsopen: { x64: 430, arm64: 430 },
  kexec_load: { x64: 246, arm64: 104 },
  kexec_file_load: { x64: 320, arm64: 294 },
  init_module: { x64: 175, arm64: 105 },
  finit_module: { x64: 313, arm64: 273 },
  delete_module: { x64: 176, arm64: 106 },
  open_by_handle_at: { x64: 304, arm64: 265 },
  setns: { x64: 308, arm64: 268 },
  unshare: { x64: 272, arm64: 97 },
  swapon: { x64: 167, arm64: 224 },
  reboot: { x64: 169, arm64: 142 },
  acct: { x64: 163, arm64: 89 },
  quotactl: { x64: 179, arm64: 60 },
  personality: { x64: 135, arm64: 92 },
  // Takes a descriptor out of another process, which needs no ptrace call.
  pidfd_getfd: { x64: 438, arm64: 438 },
  kcmp: { x64: 312, arm64: 272 },
  process_madvise: { x64: 440, arm64: 440 },
  fsconfig: { x64: 431, arm64: 431 },
  fsmount: { x64: 432, arm64: 432 },
  fspick: { x64: 433, arm64: 433 },
  mount_setattr: { x64: 442, arm64: 442 },
  quotactl_fd: { x64: 443, arm64: 443 },
  swapoff: { x64: 168, arm64: 225 },
  chroot: { x64: 161, arm64: 51 },
  settimeofday: { x64: 164, arm64: 170 },
  clock_settime: { x64: 227, arm64: 112 },
  syslog: { x64: 103, arm64: 116 },
  lookup_dcookie: { x64: 212, arm64: 18 },
  vhangup: { x64: 153, arm64: 58 },
};

/** Families of sockets that stay: unix, IPv4, IPv6, and netlink, by which programs list interfaces. A vsock would lead to the
 *  machine below this one, past every network namespace. */
const FAMILIES = [1, 2, 10, 16];
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
    ...Object.values(DENIED).flatMap((numbers) => refuse(numbers[known])),
    ...Object.values(SOCKET_CALLS).flatMap((numbers) => refuseFamilies(numbers[known])),
    instruction(RETURN, 0, 0, ALLOW),
  ]);
}
