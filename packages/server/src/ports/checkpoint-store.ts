/** Files of workspaces as they were: checkpoints that workers sent as packs. */
import type { Readable } from "node:stream";
import type { SandboxId } from "@drover/contract";

/** One pack; what it needs of others came before. */
export interface CheckpointPack {
  readonly size: number;
  readonly bytes: Readable;
}

export interface CheckpointFile {
  readonly name: string;
  readonly kind: "file" | "directory" | "symlink" | "other";
  readonly size: number;
}

/** A file anywhere in a checkpoint. */
export interface KeptFile {
  readonly path: string;
  readonly kind: "file" | "symlink" | "other";
  readonly size: number;
  /** Of its content. */
  readonly object: string;
}

export interface BundledCheckpoints {
  readonly size: number;
  /** Of the pack that stands behind the bundle's header. */
  readonly packSha256: string;
}

/** Contract: packs come from hostile places: they are checked, bounded, and nothing in them is ever checked out or run. `ensure` opens
 *  only packs that are not there yet, in the order given. Paths are relative to the workspace, "" is the workspace itself. What does not exist is
 *  `undefined`; a pack that is broken or a commit that is missing is AppError "checkpoint.unreadable". */
export interface CheckpointStore {
  ensure(
    sandboxId: SandboxId,
    packs: readonly string[],
    open: (pack: string) => Promise<CheckpointPack>,
    signal: AbortSignal,
  ): Promise<void>;
  list(
    sandboxId: SandboxId,
    commit: string,
    path: string,
    signal: AbortSignal,
  ): Promise<readonly CheckpointFile[] | undefined>;
  read(
    sandboxId: SandboxId,
    commit: string,
    path: string,
    limitBytes: number,
    signal: AbortSignal,
  ): Promise<Uint8Array | undefined>;
  /** Every file of a checkpoint, by path. */
  tree(sandboxId: SandboxId, commit: string, signal: AbortSignal): Promise<readonly KeptFile[]>;
  /** A patch from one checkpoint, or from nothing, to another; of one path, or of all. */
  diff(
    sandboxId: SandboxId,
    from: string | null,
    to: string,
    path: string | undefined,
    signal: AbortSignal,
  ): Promise<string>;
  /** Everything in these checkpoints as a Git bundle in a file; undefined, and no file that counts, when `openCheck` finds an object that must
   *  not leave. */
  bundle(
    sandboxId: SandboxId,
    commits: readonly string[],
    target: string,
    openCheck: () => (piece: Buffer, isEnd: boolean) => boolean,
    signal: AbortSignal,
  ): Promise<BundledCheckpoints | undefined>;
  count(sandboxId: SandboxId, commit: string, signal: AbortSignal): Promise<{ files: number; bytes: number }>;
  /** Everything that was kept of a sandbox. */
  remove(sandboxId: SandboxId): Promise<void>;
  /** Everything of one checkpoint as one pack of its own, and the tree to ask for in it. */
  pack(sandboxId: SandboxId, commit: string, signal: AbortSignal): Promise<{ tree: string; bytes: Uint8Array }>;
}
