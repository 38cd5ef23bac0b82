/** What a promise of a sandbox provider is given: a provider, sandboxes that are cleaned up, and ways to see facts. */
import { randomBytes } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { expect, onTestFinished } from "vitest";
import type {
  ExecCommand,
  ExecEvent,
  SandboxCapabilities,
  SandboxLimits,
  SandboxProvider,
  SandboxRef,
  SandboxSpec,
} from "../../../../server/src/ports/sandbox-provider.ts";

const MIB = 1024 * 1024;
const LOOK_EVERY_MS = 20;
const FACT_LIMIT_MS = 30_000;

export const LIMITS: SandboxLimits = { memoryBytes: 256 * MIB, cpus: 1, diskBytes: 1024 * MIB, processes: 128 };

export interface OpenedProvider {
  readonly provider: SandboxProvider;
  /** Another handle on the same sandboxes, as a second replica or a restarted server has; the suite closes it. */
  reopen(): Promise<SandboxProvider>;
  /** Ends the provider and whatever was started for it. */
  close(): Promise<void>;
}

export interface ProviderPromise {
  readonly title: string;
  /** Kept only by providers that can do this. */
  readonly needs?: keyof SandboxCapabilities | "connect";
  readonly keep: (given: Given) => Promise<void>;
}

export type ExitEvent = Extract<ExecEvent, { type: "exit" }>;

export interface Outcome {
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  readonly exit: ExitEvent;
}

/** Looks until it is true; the deadline names what did not come true. */
export async function untilFact(what: string, isTrue: () => boolean | Promise<boolean>): Promise<void> {
  await expect.poll(isTrue, { interval: LOOK_EVERY_MS, timeout: FACT_LIMIT_MS, message: what }).toBe(true);
}

/** A name no other test, run or replica uses. */
export const unique = (what: string): string => `${what}-${randomBytes(5).toString("hex")}`;

/** An argument of `sleep` by which its process is found on this machine. */
export const uniqueNap = (): string => `86400.${randomBytes(6).readUIntBE(0, 6)}`;

/** Whether a process of this machine, in whatever namespace, has these words in its command line. Providers under test run here. */
export function isOnThisMachine(words: string): boolean {
  return globSync("/proc/[0-9]*/cmdline").some((path) => {
    try {
      return readFileSync(path, "utf8").includes(words);
    } catch {
      return false; // expected: the process has just ended
    }
  });
}

export async function collect(events: AsyncIterable<ExecEvent>): Promise<Outcome> {
  const output: Record<"stdout" | "stderr", Uint8Array[]> = { stdout: [], stderr: [] };
  const exits: ExitEvent[] = [];
  for await (const event of events) {
    expect(exits, "nothing follows the exit").toEqual([]);
    if (event.type === "exit") exits.push(event);
    else output[event.type].push(event.chunk);
  }
  const [exit] = exits;
  if (exit === undefined) throw new Error("the command ended without an exit");
  return { stdout: Buffer.concat(output.stdout), stderr: Buffer.concat(output.stderr), exit };
}

export class Given {
  readonly provider: SandboxProvider;
  readonly reopen: OpenedProvider["reopen"];
  /** Never aborts. */
  readonly signal = new AbortController().signal;
  readonly #shared: () => Promise<SandboxRef>;

  constructor(opened: OpenedProvider, shared: () => Promise<SandboxRef>) {
    this.provider = opened.provider;
    this.reopen = opened.reopen;
    this.#shared = shared;
  }

  spec(more: Partial<SandboxSpec> = {}): SandboxSpec {
    const key = unique("conformance");
    return { key, labels: { installation: key, sandbox: key, generation: "1" }, limits: LIMITS, env: {}, ...more };
  }

  /** A fresh one, destroyed when the test is over. */
  async sandbox(more: Partial<SandboxSpec> = {}): Promise<SandboxRef> {
    const ref = await this.provider.ensure(this.spec(more), this.signal);
    onTestFinished(() => this.provider.destroy(ref, this.signal));
    return ref;
  }

  /** The one that all promises use which leave it as it was. */
  sharedSandbox(): Promise<SandboxRef> {
    return this.#shared();
  }

  /** A directory of the sandbox that nobody else uses. */
  async directory(ref: SandboxRef): Promise<string> {
    const path = `/workspace/${unique("dir")}`;
    await this.shell(ref, `mkdir '${path}'`);
    return path;
  }

  run(ref: SandboxRef, command: ExecCommand): Promise<Outcome> {
    return collect(this.provider.exec(ref, command, this.signal));
  }

  /** Runs a script that must succeed, and gives what it wrote. */
  async shell(ref: SandboxRef, script: string, cwd = "/workspace"): Promise<string> {
    const { stdout, stderr, exit } = await this.run(ref, { argv: ["sh", "-c", script], cwd });
    if (exit.code !== 0) throw new Error(`${script} ended with ${exit.code ?? exit.signal}: ${stderr.toString()}`);
    return stdout.toString();
  }
}

export const exited = (code: number): ExitEvent => ({
  type: "exit",
  code,
  signal: null,
  isTimedOut: false,
  isOomKilled: false,
});

export const refusal = (...codes: readonly string[]) =>
  expect.objectContaining({ name: "AppError", code: expect.toBeOneOf([...codes]) });
