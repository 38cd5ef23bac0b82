/** What an agent can do in its workspace: run commands, and look at and change files. */
import { spawn } from "node:child_process";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { tool, type ToolSet } from "ai";
import { z } from "zod";

const OUTPUT_CHARACTERS = 30_000;
const COMMAND_SECONDS = 120;

const Command = z.object({
  command: z.string().min(1).describe("A command of the shell, run in the workspace."),
  timeout: z.number().positive().max(3_600).optional().describe("Seconds; 120 unless given."),
});
const Edit = z.object({
  command: z.enum(["view", "create", "str_replace", "insert"]),
  path: z.string().min(1).describe("Of the file, from the workspace."),
  file_text: z.string().optional().describe("For create: the whole file."),
  old_str: z.string().optional().describe("For str_replace: stands exactly once in the file."),
  new_str: z.string().optional().describe("For str_replace and insert."),
  insert_line: z.int().min(0).optional().describe("For insert: after this line."),
});

export const TOOLS: ToolSet = {
  terminal: tool({ description: "Run a shell command in the workspace.", inputSchema: Command }),
  file_editor: tool({ description: "View, create and edit files.", inputSchema: Edit }),
};

export interface Workspace {
  readonly cwd: string;
  /** Of the server; what looks like a secret is left out. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface Observation {
  readonly text: string;
  readonly isError: boolean;
  readonly exitCode?: number;
}

/** No secret of the server is a variable of what an agent runs. */
export const toAgentEnv = (env: Workspace["env"]): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !/(?:KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL)/i.test(name)));

const cut = (text: string): string =>
  text.length <= OUTPUT_CHARACTERS
    ? text
    : `${text.slice(0, OUTPUT_CHARACTERS / 2)}\n[... ${text.length - OUTPUT_CHARACTERS} characters ...]\n${text.slice(-OUTPUT_CHARACTERS / 2)}`;

/** Its whole group ends when the time is over or the run is interrupted. */
function runCommand(
  workspace: Workspace,
  { command, timeout }: z.infer<typeof Command>,
  signal: AbortSignal,
): Promise<Observation> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout((timeout ?? COMMAND_SECONDS) * 1_000)]);
  return new Promise((done) => {
    const child = spawn("sh", ["-c", command], {
      cwd: workspace.cwd,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
      env: toAgentEnv(workspace.env),
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8");
      stream.on("data", (text: string) => {
        if (output.length < 4 * OUTPUT_CHARACTERS) output += text;
      });
    }
    const stop = () => {
      try {
        process.kill(-(child.pid ?? 0), "SIGKILL");
      } catch {
        // Expected: it has just ended.
      }
    };
    limit.addEventListener("abort", stop, { once: true });
    child.once("error", (error) => done({ text: error.message, isError: true }));
    child.once("close", (code) => {
      limit.removeEventListener("abort", stop);
      const why = limit.aborted ? `\n[stopped: ${signal.aborted ? "interrupted" : "the time was over"}]` : "";
      const exitCode = code ?? 137;
      done({ text: cut(output) + why, isError: exitCode !== 0, exitCode });
    });
  });
}

async function edit(cwd: string, given: z.infer<typeof Edit>): Promise<Observation> {
  const path = resolve(cwd, given.path);
  const say = (text: string): Observation => ({ text, isError: false });
  if (given.command === "view") {
    if ((await stat(path)).isDirectory()) return say((await readdir(path)).toSorted().join("\n"));
    const lines = (await readFile(path, "utf8")).split("\n");
    return say(cut(lines.map((line, index) => `${String(index + 1).padStart(6)}\t${line}`).join("\n")));
  }
  if (given.command === "create") {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, given.file_text ?? "");
    return say(`created ${given.path}`);
  }
  const text = await readFile(path, "utf8");
  if (given.command === "insert") {
    const lines = text.split("\n");
    await writeFile(path, lines.toSpliced(given.insert_line ?? lines.length, 0, given.new_str ?? "").join("\n"));
    return say(`inserted into ${given.path}`);
  }
  const found = given.old_str === undefined || given.old_str === "" ? 0 : text.split(given.old_str).length - 1;
  if (found !== 1) return { text: `old_str stands ${found} times in ${given.path}; it must stand once`, isError: true };
  await writeFile(
    path,
    text.replace(given.old_str ?? "", () => given.new_str ?? ""),
  );
  return say(`edited ${given.path}`);
}

/** Never throws: what went wrong is told to the agent. */
export async function useTool(
  workspace: Workspace,
  name: string,
  input: unknown,
  signal: AbortSignal,
): Promise<Observation> {
  try {
    if (name === "terminal") return await runCommand(workspace, Command.parse(input), signal);
    if (name === "file_editor") return await edit(workspace.cwd, Edit.parse(input));
    return { text: `there is no tool ${name}`, isError: true };
  } catch (error) {
    return { text: error instanceof Error ? error.message : String(error), isError: true };
  }
}
