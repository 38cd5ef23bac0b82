/** Directories that may be the one that all replicas share.
 *
 *  Contract: a mark is written once and never changed; two paths with the same mark are the same directory. */
export interface StorageDir {
  /** Undefined where there is none, or none that this process may write to. */
  findMark(path: string): Promise<string | undefined>;
  /** Makes directory and mark unless they are there; tells the mark, and the path without links. */
  ensureMark(path: string): Promise<{ readonly mark: string; readonly path: string }>;
}
