/** Where sandboxes run. */
import type { Duplex } from "node:stream";

export type Labels = Readonly<Record<string, string>>;

/** What is asked for; the provider says in `info` what it really enforces. */
export interface SandboxLimits {
  readonly memoryBytes: number;
  readonly cpus: number;
  readonly diskBytes: number;
  readonly processes: number;
}

export interface AgentMount {
  readonly name: string;
  readonly directory: string;
}

export interface SandboxSpec {
  /** Names the sandbox at the provider: the same key finds, reuses or destroys the same one, from any replica. */
  readonly key: string;
  /** Found again by `list`; always holds installation, sandbox and generation. */
  readonly labels: Labels;
  readonly limits: SandboxLimits;
  /** Visible to everything inside. Never a secret. */
  readonly env: Readonly<Record<string, string>>;
  /** Directories of this machine that are seen inside, read-only, below `/opt/drover/agents`; where `mounts` is true. */
  readonly agents?: readonly AgentMount[];
  readonly image?: string;
  readonly snapshot?: string;
  /** What it may reach, where the provider itself holds its network; "none" unless told. */
  readonly network?: "none" | "allowlist" | "open";
}

/** A sandbox at its provider. `id` is the provider's own name for it. */
export interface SandboxRef {
  readonly key: string;
  readonly id: string;
  readonly labels: Labels;
}

export interface ExecCommand {
  /** A program and its arguments, never words for a shell. A program that does not exist ends with 127. */
  readonly argv: readonly [string, ...string[]];
  /** `/workspace` unless told. */
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: Uint8Array;
  /** Not for detached processes. */
  readonly timeoutMs?: number;
}

export type ExecEvent =
  | { readonly type: "stdout" | "stderr"; readonly chunk: Uint8Array }
  | {
      readonly type: "exit";
      readonly code: number | null;
      readonly signal: string | null;
      readonly isTimedOut: boolean;
      readonly isOomKilled: boolean;
    };

export interface Terminal {
  readonly output: AsyncIterable<Uint8Array>;
  write(bytes: Uint8Array): void;
  resize(columns: number, rows: number): void;
  readonly exited: Promise<{ readonly code: number | null }>;
  close(): void;
}

export interface FileEntry {
  readonly name: string;
  readonly kind: "file" | "directory" | "symlink" | "other";
  readonly size: number;
  readonly modifiedAt: Date;
}

export type Enforcement = "cgroup2" | "cgroup1" | "watchdog" | "rlimit" | "engine" | "provider" | "quota" | "none";

export interface SandboxInfo {
  readonly state: "running" | "paused" | "stopped";
  /** Why it is not running, in words for people; null while it is. */
  readonly reason: string | null;
  readonly isOomKilled: boolean;
  readonly limits: SandboxLimits;
  readonly enforcedBy: {
    readonly [Limit in "memory" | "cpu" | "disk" | "processes" | "network" | "isolation"]:
      | Enforcement
      | "namespaces"
      | "unsafe";
  };
  /** Processes that were started detached and have ended. */
  readonly ended: readonly {
    readonly argv: readonly string[];
    readonly code: number | null;
    readonly signal: string | null;
  }[];
  readonly usage: {
    readonly memoryBytes: number | null;
    readonly diskBytes: number | null;
    readonly processes: number | null;
  };
}

/** What a provider can do, as data: callers look here and never at its name. */
export interface SandboxCapabilities {
  readonly pause: boolean;
  readonly snapshot: boolean;
  readonly terminal: boolean;
  /** A unix-socket directory reaches the server without a network, and attaches the credential outside. */
  readonly socketDirectory: boolean;
  readonly egressPolicy: boolean;
  /** Directories of this machine can be seen inside. */
  readonly mounts: boolean;
  readonly survivesServer: boolean;
}

/** Contract: identity comes from `key` alone. `ensure` is idempotent per key and resolves when commands can run; `destroy` of
 *  a missing sandbox succeeds, ends every process in it and removes its files; `exec` ends with exactly one `exit`, also when
 *  the signal aborts, which kills the whole process group (SIGKILL); `upload` and `download` never follow a link out of the
 *  sandbox, and paths that are relative count from `/workspace`; every method honours its signal. Failures are AppError
 *  "sandbox.unavailable" (try again) or "sandbox.rejected" (do not). */
export interface SandboxProvider {
  readonly name: string;
  readonly capabilities: SandboxCapabilities;
  ensure(spec: SandboxSpec, signal: AbortSignal): Promise<SandboxRef>;
  exec(ref: SandboxRef, command: ExecCommand, signal: AbortSignal): AsyncIterable<ExecEvent>;
  openTerminal(
    ref: SandboxRef,
    size: { readonly columns: number; readonly rows: number },
    signal: AbortSignal,
  ): Promise<Terminal>;
  upload(
    ref: SandboxRef,
    path: string,
    bytes: Uint8Array,
    options: { readonly mode?: number },
    signal: AbortSignal,
  ): Promise<void>;
  download(ref: SandboxRef, path: string, limitBytes: number, signal: AbortSignal): Promise<Uint8Array>;
  listFiles(ref: SandboxRef, path: string, signal: AbortSignal): Promise<readonly FileEntry[]>;
  /** Starts a process that goes on by itself, also when the server is gone. */
  startDetached(ref: SandboxRef, command: ExecCommand, signal: AbortSignal): Promise<void>;
  /** A connection to a port of the sandbox's own loopback; not there where the provider has no way to one. */
  connect?(ref: SandboxRef, port: number, signal: AbortSignal): Promise<Duplex>;
  /** The host's directory that the sandbox sees as `/run/cp`, when the provider has one. */
  socketDirectory(ref: SandboxRef): string | undefined;
  info(ref: SandboxRef, signal: AbortSignal): Promise<SandboxInfo | undefined>;
  list(labels: Labels, signal: AbortSignal): Promise<readonly SandboxRef[]>;
  pause(ref: SandboxRef, signal: AbortSignal): Promise<void>;
  resume(ref: SandboxRef, signal: AbortSignal): Promise<void>;
  snapshot(ref: SandboxRef, name: string, signal: AbortSignal): Promise<{ readonly snapshot: string }>;
  destroy(ref: SandboxRef, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}
