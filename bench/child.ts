/** Child processes of a benchmark: asked by name over the process channel, and ended with the benchmark. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

type Reply = { readonly id: number; readonly value: unknown } | { readonly id: number; readonly error: string };

export interface Child extends AsyncDisposable {
  readonly pid: number;
  ask<T>(name: string, ...args: readonly unknown[]): Promise<T>;
  /** SIGTERM, and SIGKILL after 20 seconds; idempotent. */
  stop(): Promise<void>;
}

export interface ChildOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly execArgv?: readonly string[];
}

const STOP_MS = 20_000;

/** Starts `file` of this folder, which must call `answer`. */
export function startChild(file: string, options: ChildOptions = {}): Child {
  const child = fork(join(import.meta.dirname, file), [], {
    execArgv: [...(options.execArgv ?? [])],
    env: { ...process.env, ...options.env },
    serialization: "advanced",
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const waiting = new Map<number, { resolve: (value: never) => void; reject: (error: Error) => void }>();
  let last = 0;
  child.on("message", (message) => {
    const reply = message as Reply;
    const asked = waiting.get(reply.id);
    waiting.delete(reply.id);
    if ("error" in reply) asked?.reject(new Error(`${file}: ${reply.error}`));
    else asked?.resolve(reply.value as never);
  });
  const exited = once(child, "exit");
  void exited.then(([code, signal]) => {
    for (const { reject } of waiting.values()) reject(new Error(`${file} ended with ${String(signal ?? code)}`));
  });
  const isOver = () => child.exitCode !== null || child.signalCode !== null;
  const stop = async () => {
    if (isOver()) return;
    child.kill("SIGTERM");
    const timer = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
    await exited;
    clearTimeout(timer);
  };
  return {
    pid: child.pid ?? -1,
    ask: (name, ...args) =>
      new Promise((resolve, reject) => {
        if (isOver()) return reject(new Error(`${file} has ended`));
        const id = ++last;
        waiting.set(id, { resolve, reject });
        child.send({ id, name, args });
      }),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

type Answers = Readonly<Record<string, (...args: never[]) => unknown>>;

/** The child's side. It ends when the benchmark does, also when that was killed. */
export function answer(answers: Answers, onStop: () => Promise<void> = async () => undefined): void {
  const stop = () => void onStop().finally(() => process.exit(0));
  process.once("SIGTERM", stop).once("disconnect", stop);
  process.on("message", (message) => {
    const { id, name, args } = message as { id: number; name: string; args: never[] };
    const run = async () => {
      const found = answers[name];
      if (found === undefined) throw new Error(`nothing answers to ${name}`);
      return found(...args);
    };
    run().then(
      (value) => process.send?.({ id, value }),
      (error: unknown) =>
        process.send?.({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
    );
  });
}
