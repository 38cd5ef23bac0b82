/** An agent's program: started in a group of its own, its last words kept, ended with everything it started. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";

export interface AgentCommand {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

export interface AgentExit {
  readonly code: number | null;
  readonly signal: string | null;
  /** It could not be started. */
  readonly error?: string;
}

export interface AgentProcess {
  readonly output: AsyncIterable<Uint8Array>;
  write(line: string): void;
  /** The last characters of its standard error. */
  lastWords(): string;
  readonly exit: Promise<AgentExit>;
  /** Ids of all that runs below it now. */
  listBelow(): Promise<readonly number[]>;
  /** Ends what runs below it and is not among these. */
  endOthers(own: readonly number[]): Promise<void>;
  /** Ends it and all its descendants, by their ids; resolves when they were told to. */
  end(): Promise<void>;
}

const LAST_WORDS_CHARACTERS = 8_000;
const KILL_AFTER_MS = 2_000;

/** Parent of each process, as /proc has it; empty where there is none. */
async function listParents(): Promise<ReadonlyMap<number, number>> {
  const names = await readdir("/proc").catch(() => []);
  const pairs = await Promise.all(
    names
      .filter((name) => /^\d+$/.test(name))
      .map(async (name) => {
        const text = await readFile(`/proc/${name}/stat`, "utf8").catch(() => "");
        // The command's name stands in parentheses and may itself contain some.
        const parent = /^ \S (\d+)/.exec(text.slice(text.lastIndexOf(")") + 1))?.[1];
        return [Number(name), Number(parent ?? 0)] as const;
      }),
  );
  return new Map(pairs);
}

/** Everything below a process, also what left its group. */
async function listDescendants(pid: number): Promise<readonly number[]> {
  const parents = await listParents();
  const found = new Set([pid]);
  for (let size = 0; size !== found.size;) {
    size = found.size;
    for (const [child, parent] of parents) if (found.has(parent)) found.add(child);
  }
  found.delete(pid);
  return [...found];
}

function signalTo(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // Expected: it is gone already.
  }
}

function keepLastWords(child: ChildProcessWithoutNullStreams): () => string {
  let text = "";
  child.stderr.setEncoding("utf8");
  child.stderr.on("data", (chunk: string) => (text = (text + chunk).slice(-LAST_WORDS_CHARACTERS)));
  child.stderr.on("error", () => {});
  return () => text.trim();
}

export function startAgentProcess({ argv, cwd, env }: AgentCommand): AgentProcess {
  const [program = "", ...args] = argv;
  const child = spawn(program, args, { cwd, env, detached: true, stdio: ["pipe", "pipe", "pipe"] });
  const lastWords = keepLastWords(child);
  // Expected: the agent closed its end; its exit says why.
  for (const stream of [child.stdin, child.stdout]) stream.on("error", () => {});
  const { promise: exit, resolve } = Promise.withResolvers<AgentExit>();
  child.once("error", (error) => resolve({ code: null, signal: null, error: error.message }));
  // Not "close": a process that it left behind may hold its output open.
  child.once("exit", (code, signal) => resolve({ code, signal }));

  const isOver = () => child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
  let ended: Promise<void> | undefined;
  const end = async () => {
    const { pid } = child;
    if (pid === undefined) return;
    const descendants = await listDescendants(pid);
    // In this order: an agent that reads the end of its input first may tidy up, and forget what it was doing.
    for (const one of [-pid, pid, ...descendants]) signalTo(one, "SIGTERM");
    child.stdin.destroy();
    if (!isOver()) {
      const timer = setTimeout(() => signalTo(pid, "SIGKILL"), KILL_AFTER_MS);
      await exit;
      clearTimeout(timer);
    }
    for (const one of [-pid, ...descendants]) signalTo(one, "SIGKILL");
    child.stdout.destroy();
    child.stderr.destroy();
  };

  const listBelow = async () => (child.pid === undefined || isOver() ? [] : listDescendants(child.pid));

  return {
    listBelow,
    async endOthers(own) {
      for (const one of await listBelow()) if (!own.includes(one)) signalTo(one, "SIGKILL");
    },
    output: child.stdout,
    write: (line) => void (child.stdin.writable && child.stdin.write(line)),
    lastWords,
    exit,
    end: () => (ended ??= end()),
  };
}
