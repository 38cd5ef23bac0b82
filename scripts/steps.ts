/** Runs a program and tells how it ended. */
import { spawn } from "node:child_process";
import { delimiter, join } from "node:path";

export const ROOT = join(import.meta.dirname, "..");

const env = () => ({
  ...process.env,
  PATH: `${join(ROOT, "node_modules/.bin")}${delimiter}${process.env.PATH ?? ""}`,
});

/** In the foreground: the program's output is ours. Resolves to its exit code. */
export function runVisible(command: readonly string[], more: NodeJS.ProcessEnv = {}): Promise<number> {
  const [program = "", ...args] = command;
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  spawn(program, args, { cwd: ROOT, env: { ...env(), ...more }, stdio: "inherit" })
    .on("error", reject)
    .on("close", (code) => resolve(code ?? 1));
  return promise;
}

/** In silence: the output is returned, to be shown only when it matters. */
export function runSilent(command: readonly string[]): Promise<{ readonly code: number; readonly output: string }> {
  const [program = "", ...args] = command;
  const { promise, resolve, reject } = Promise.withResolvers<{ code: number; output: string }>();
  const child = spawn(program, args, { cwd: ROOT, env: env(), stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  const take = (chunk: Buffer) => (output += chunk.toString());
  child.stdout.on("data", take);
  child.stderr.on("data", take);
  child.on("error", reject).on("close", (code) => resolve({ code: code ?? 1, output }));
  return promise;
}
