/** What we run inside a sandbox: programs for its Node, and the shell text that Daytona's sessions take. */
import { AppError } from "@drover/contract";
import type { ExecCommand } from "../../ports/sandbox-provider.ts";
import { READ_OUT } from "../read-out.ts";

/** Where commands run that name no directory, and where relative paths count from. */
export const WORKSPACE = "/workspace";

/**
 * Runs one command and tells of it in lines: `1<base64>` and `2<base64>` are its streams, `.<json>` its end. A session's log holds
 * lines of text only: it drops zero bytes, adds a last newline, keeps a line back until it is whole, and knows no signals. The
 * command has a process group of its own, which dies with the session. Its end is that of its first process, told after all it said.
 */
const RUN = String.raw`
${READ_OUT}
const { spawn } = require("node:child_process");
const [, timeoutMs, log, cwd, count, ...words] = process.argv;
const variables = words.splice(0, Number(count)).map((pair) => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)]);
const output = log === "" ? "pipe" : require("node:fs").openSync(log, "a");
const env = { ...process.env, ...Object.fromEntries(variables) };
const isAway = !require("node:fs").existsSync(cwd + "/.");
if (isAway) words.splice(0, words.length, "/bin/sh", "-c", 'echo "$0: no such directory" >&2; exit 126', cwd);
const child = spawn(words[0], words.slice(1), { cwd: isAway ? "/" : cwd, env, detached: true, stdio: ["inherit", output, output] });
const tell = (number, stream) => (chunk) => {
  if (isTold) return;
  if (process.stdout.write(number + chunk.toString("base64") + "\n") || stream === undefined) return;
  stream.pause();
  process.stdout.once("drain", () => stream.resume());
};
let isTimedOut = false;
let isTold = false;
const end = (code, signal) => {
  if (isTold) return;
  isTold = true;
  process.stdout.write("." + JSON.stringify({ code, signal, isTimedOut }) + "\n", () => process.exit(0));
};
const kill = () => {
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {}
};
child.on("error", (error) => {
  tell(2)(Buffer.from(words[0] + ": " + (error.code === "ENOENT" ? "not found" : error.message) + "\n"));
  end(error.code === "ENOENT" ? 127 : 126, null);
});
child.on("exit", (code, signal) => readOut([child.stdout, child.stderr].filter(Boolean), () => end(code, signal)));
if (child.stdout) child.stdout.on("data", tell(1, child.stdout));
if (child.stderr) child.stderr.on("data", tell(2, child.stderr));
for (const name of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(name, () => (kill(), process.exit(1)));
if (timeoutMs !== "") setTimeout(() => ((isTimedOut = true), kill()), Number(timeoutMs)).unref();
`.trim();

/** Daytona's own listing follows links and leaves out those that lead nowhere. */
const LIST = String.raw`
const { lstatSync, readdirSync } = require("node:fs");
const kindOf = (stat) => (stat.isFile() ? "file" : stat.isDirectory() ? "directory" : stat.isSymbolicLink() ? "symlink" : "other");
const [, directory] = process.argv;
const list = () => readdirSync(directory, { encoding: "buffer" }).flatMap((name) => {
  const stat = lstatSync(Buffer.concat([Buffer.from(directory + "/"), name]), { throwIfNoEntry: false });
  return stat ? [{ name: name.toString(), kind: kindOf(stat), size: stat.size, modifiedMs: stat.mtimeMs }] : [];
});
try {
  console.log(JSON.stringify({ entries: list() }));
} catch (error) {
  console.log(JSON.stringify({ code: error.code }));
}
`.trim();

/** One word of a POSIX shell, whatever the text holds. A zero byte can be in no argument of any program. */
export function quoteWord(text: string): string {
  if (text.includes("\0")) throw new AppError("sandbox.rejected", "An argument holds a zero byte");
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

const toNode = (program: string, ...words: readonly string[]) =>
  ["node", "-e", program, "--", ...words].map(quoteWord).join(" ");

/** `stdin` is a file of the sandbox, which is gone as soon as it is open. */
function toRun(command: ExecCommand, log: string, stdin: string | undefined): string {
  const variables = Object.entries(command.env ?? {});
  if (variables.some(([name]) => name === "" || name.includes("=")))
    throw new AppError("sandbox.rejected", "The name of a variable may not be empty or hold an equals sign");
  const pairs = variables.map(([name, value]) => `${name}=${value}`);
  const limit = command.timeoutMs === undefined ? "" : String(command.timeoutMs);
  const run = toNode(RUN, limit, log, command.cwd ?? WORKSPACE, String(pairs.length), ...pairs, ...command.argv);
  if (stdin === undefined) return `${run} </dev/null`;
  return `{ rm -f ${quoteWord(stdin)}; ${run}; } <${quoteWord(stdin)}`;
}

export const toExecScript = (command: ExecCommand, stdin: string | undefined): string => toRun(command, "", stdin);

const DETACHED = "# drover ";

/** Its output goes into a file. The first line keeps the words, so that `readDetachedArgv` can tell them later. */
export const toDetachedScript = (command: ExecCommand, session: string, stdin: string | undefined): string =>
  `${DETACHED}${JSON.stringify(command.argv)}\n${toRun(command, `/tmp/${session}.log`, stdin)}`;

/** Undefined for a command that is none of ours. */
export function readDetachedArgv(script: string): readonly string[] | undefined {
  const [first = ""] = script.split("\n", 1);
  return first.startsWith(DETACHED) ? JSON.parse(first.slice(DETACHED.length)) : undefined;
}

export const toListCommand = (directory: string): string => toNode(LIST, directory);

/** Makes the directory where commands run, as the superuser where only that one may. 3: there is no Node. */
export const PREPARE_COMMAND = `sh -c ${quoteWord(
  [
    "command -v node >/dev/null || exit 3",
    `mkdir -p ${WORKSPACE} 2>/dev/null && [ -w ${WORKSPACE} ] && exit 0`,
    `sudo -n mkdir -p ${WORKSPACE} && sudo -n chown "$(id -u):$(id -g)" ${WORKSPACE}`,
  ].join("\n"),
)}`;
