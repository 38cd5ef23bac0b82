/** A place to work in: commands, files and a repository, wherever it is. Ended by `await using`. */

import type { WorkspaceMode } from "@drover/contract";

export interface ExecOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** 120 seconds unless told. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface ExecResult {
  /** Null when a signal ended it. */
  readonly exitCode: number | null;
  /** At most a mebibyte of each. */
  readonly stdout: string;
  readonly stderr: string;
  readonly timedOut: boolean;
}

export interface ListedFile {
  readonly name: string;
  readonly kind: "file" | "directory" | "symlink" | "other";
  readonly size: number;
}

/** Contract: relative paths count from the workspace's own directory; a program that does not exist ends with 127; a file that
 *  is not there rejects; `dispose` ends every process, removes what was made for it, and twice equals once. */
export interface Workspace extends AsyncDisposable {
  readonly mode: WorkspaceMode;
  readonly id: string;
  /** Where it is, as its own commands see it. */
  readonly directory: string;
  /** A program and its arguments, never words for a shell. */
  exec(argv: readonly [string, ...string[]], options?: ExecOptions): Promise<ExecResult>;
  readFile(path: string, signal?: AbortSignal): Promise<Uint8Array>;
  writeFile(path: string, content: Uint8Array | string, signal?: AbortSignal): Promise<void>;
  list(path?: string, signal?: AbortSignal): Promise<readonly ListedFile[]>;
  /** Checks a repository out into the workspace; its default branch unless told. */
  gitClone(repo: string, options?: { readonly branch?: string; readonly signal?: AbortSignal }): Promise<void>;
  dispose(): Promise<void>;
}

export const EXEC_LIMIT_MS = 120_000;
export const OUTPUT_LIMIT_BYTES = 1024 * 1024;
/** Of a file that is read. */
export const FILE_LIMIT_BYTES = 64 * 1024 * 1024;
export const NEVER: AbortSignal = new AbortController().signal;
