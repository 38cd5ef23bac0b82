/** The journal file: records reach the disk in order, many with one fsync, through full disks and failed writes. */
import { AppError } from "@drover/contract";
import type { Clock } from "./clock.ts";
import type { AppendFile, Disk } from "./disk.ts";
import { MAGIC, scanFrames, toFrame } from "./frame.ts";
import type { LogRecord } from "./outbox-log.ts";

const NAME = "outbox.journal";
const RETRY_MS = { first: 100, longest: 2_000 };

export interface Loaded {
  readonly records: readonly LogRecord[];
  /** Where the last whole record ends. */
  readonly end: number;
  /** Bytes behind it: a write that death cut short, and that nobody was told of. */
  readonly tornBytes: number;
}

export async function loadJournal(disk: Disk): Promise<Loaded | undefined> {
  const bytes = await disk.read(NAME);
  if (bytes === undefined) return undefined;
  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC))
    throw new AppError("config.invalid", `${NAME} is not a worker's journal`);
  const { values, end } = scanFrames(bytes, MAGIC.length);
  // Our own file, each record under its checksum: its shape is trusted.
  return { records: values as LogRecord[], end, tornBytes: bytes.length - end };
}

export interface JournalParts {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly loaded: Loaded | undefined;
  /** The shortest list of records that says the same; asked for whenever the file is rewritten. */
  readonly toSnapshot: () => Iterable<LogRecord>;
  readonly beforeRename: () => void;
  /** Told once per trouble (a full disk), and with `undefined` when it is over. */
  readonly onTrouble: (error: NodeJS.ErrnoException | undefined) => void;
}

export interface Write {
  readonly record: LogRecord;
  /** Whether to wait for the disk; the kernel alone is enough for what may be said twice. */
  readonly isDurable: boolean;
  /** Called in order, when the bytes are where they were promised to be. */
  readonly onWritten: () => void;
  /** Called instead when the journal is closed before that. */
  readonly onAbandoned: () => void;
}

export interface Journal {
  readonly size: number;
  readonly isTroubled: boolean;
  write(write: Write): void;
  /** Rewrites the file in its shortest form, after the writes given so far. */
  compact(): void;
  /** Gives what is queued one more try, then lets go of the file. */
  close(): Promise<void>;
  settled(): Promise<void>;
}

const encode = (records: Iterable<LogRecord>) => Buffer.concat([MAGIC, ...Array.from(records, toFrame)]);

export async function startJournal(parts: JournalParts): Promise<Journal> {
  const { disk, clock } = parts;
  const closing = new AbortController();
  let queue: Write[] = [];
  let isCompactionDue = false;
  /** Nobody knows what the file holds behind `size`; it is rewritten from memory before it is used again. */
  let isInDoubt = false;
  let trouble: NodeJS.ErrnoException | undefined;
  let file: AppendFile | undefined;
  let size = 0;
  let running: Promise<void> | undefined;
  let closed: Promise<void> | undefined;

  const rewrite = async () => {
    const bytes = encode(parts.toSnapshot());
    await disk.replace(NAME, bytes, () => {
      parts.beforeRename();
      isInDoubt = true;
    });
    const before = file;
    file = await disk.openAppend(NAME);
    size = bytes.length;
    isInDoubt = false;
    await before?.close().catch(() => {}); // an unlinked file: nothing can be lost in it
  };

  const resume = async (end: number) => {
    file = await disk.openAppend(NAME);
    await file.truncate(end);
    await file.sync();
    size = end;
  };

  const put = async (bytes: Buffer, isDurable: boolean) => {
    if (isInDoubt || file === undefined) await rewrite();
    const target = file as AppendFile;
    isInDoubt = true;
    await target.write(bytes).catch(async (error: unknown) => {
      await target.truncate(size);
      isInDoubt = false;
      throw error;
    });
    if (isDurable) await target.sync();
    isInDoubt = false;
    size += bytes.length;
  };

  /** Tries until it works or the journal is closed: a full disk is waited for, never passed over. */
  const persist = async (writes: readonly Write[]): Promise<boolean> => {
    const bytes = Buffer.concat(writes.map((write) => toFrame(write.record)));
    const isDurable = writes.some((write) => write.isDurable);
    for (let waitMs = RETRY_MS.first; ; waitMs = Math.min(waitMs * 2, RETRY_MS.longest)) {
      try {
        await put(bytes, isDurable);
        if (trouble !== undefined) parts.onTrouble((trouble = undefined));
        return true;
      } catch (error) {
        // Expected: ENOSPC, EDQUOT, EIO. What was accepted is in memory and in the synced part of the file.
        if (trouble === undefined) parts.onTrouble((trouble = error as NodeJS.ErrnoException));
        if (closing.signal.aborted) return false;
        await clock.sleep(waitMs, closing.signal);
      }
    }
  };

  const run = async () => {
    while (queue.length > 0 || isCompactionDue) {
      const writes = queue;
      queue = [];
      const isWritten = writes.length === 0 || (await persist(writes));
      for (const write of writes) (isWritten ? write.onWritten : write.onAbandoned)();
      if (!isCompactionDue) continue;
      isCompactionDue = false;
      // Without room for the copy the long file stays in use: it is only longer than it need be.
      await rewrite().catch(() => {});
    }
    running = undefined;
  };
  const wake = () => {
    running ??= Promise.resolve().then(run);
  };
  const settled = async () => {
    while (running !== undefined) await running;
  };

  if (parts.loaded === undefined) await rewrite();
  else await resume(parts.loaded.end);

  return {
    get size() {
      return size;
    },
    get isTroubled() {
      return trouble !== undefined;
    },
    write(write) {
      if (closing.signal.aborted) return write.onAbandoned();
      queue.push(write);
      wake();
    },
    compact() {
      if (closing.signal.aborted) return;
      isCompactionDue = true;
      wake();
    },
    settled,
    close() {
      closing.abort();
      closed ??= settled().then(() => file?.close());
      return closed;
    },
  };
}
