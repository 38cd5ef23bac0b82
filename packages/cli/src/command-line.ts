/** Drover's command line: the process around a command. */
import { createInterface } from "node:readline/promises";
import { text } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import { createClient } from "@drover/client";
import manifest from "../package.json" with { type: "json" };
import { openConsole } from "./console.ts";
import { EXIT } from "./exit-code.ts";
import { runCommand } from "./run-command.ts";
import { toPaint } from "./terminal.ts";

/** Ctrl-C reaches this process from the terminal, and within this time once more from npm, if that started it: asked once. */
const ECHO_MS = 1_000;
const stopping = new AbortController();
let askedAtMs = 0;
const stop = () => {
  if (stopping.signal.aborted && performance.now() - askedAtMs > ECHO_MS) process.exit(EXIT.interrupted); // Asked twice: at once.
  if (stopping.signal.aborted) return;
  askedAtMs = performance.now();
  stopping.abort(new Error("stopped by a signal"));
};
process.on("SIGINT", stop);
process.on("SIGTERM", stop);
// `drover events | head` closes the pipe early; that is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1));

async function ask(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await terminal.question(question, { signal: stopping.signal });
  } finally {
    terminal.close();
  }
}

/** The exit code. */
export const runCommandLine = (env: NodeJS.ProcessEnv): Promise<number> =>
  runCommand(
    {
      env,
      cwd: process.cwd(),
      version: manifest.version,
      width: Math.max(40, process.stdout.columns ?? 80),
      paint: toPaint(process.stdout.isTTY, env),
      now: () => new Date(),
      signal: stopping.signal,
      print: (line) => process.stdout.write(`${line}\n`),
      warn: (line) => process.stderr.write(`${line}\n`),
      ask: process.stdin.isTTY ? ask : undefined,
      readInput: () => text(process.stdin),
      write: (to, content) => void (to === "out" ? process.stdout : process.stderr).write(content),
      isOnTerminal: process.stdout.isTTY,
      wait: (ms) => setTimeout(ms, undefined, { signal: stopping.signal }).catch(() => undefined),
      console: openConsole(process.stdin, process.stdout),
      createClient,
    },
    process.argv.slice(2),
  );
