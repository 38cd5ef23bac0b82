/** The programs that run beside a command in a pod and in Daytona, as processes of this machine, read as badly as it gets. */
import { spawn, spawnSync, type ChildProcessWithoutNullStreams } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { toExecScript } from "./daytona/in-sandbox.ts";
import { readToldLines } from "./daytona/told-lines.ts";
import { MarkedOutput } from "./docker/marked-output.ts";
import { COMMAND, RUN, toInput } from "./kubernetes/inside.ts";

const dir = mkdtempSync(join(tmpdir(), "drover-read-out-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

interface Beside {
  /** As high as a command counts to fill most of what stands between it and its reader, and still ends unread. */
  readonly counted: number;
  start(argv: readonly [string, ...string[]]): ChildProcessWithoutNullStreams;
  /** What the command said on stdout, and its code, from what the program said. */
  read(stdout: Buffer, stderr: Buffer): { readonly said: Buffer; readonly code: unknown };
}

const MARK = "the-mark";

const BESIDE: Readonly<Record<string, Beside>> = {
  kubernetes: {
    counted: 65_000,
    start: (argv) => {
      const program = spawn(process.execPath, COMMAND.slice(1), { stdio: "pipe", detached: true });
      program.stdin.write(toInput(RUN, { argv, cwd: dir, env: {}, mark: MARK }));
      return program;
    },
    read: (stdout, stderr) => {
      const { said, code } = JSON.parse(String(new MarkedOutput(MARK).pass(stderr).after));
      expect(said).toBe(stdout.length);
      return { said: stdout, code };
    },
  },
  daytona: {
    counted: 50_000,
    start: (argv) =>
      spawn("sh", ["-c", toExecScript({ argv, cwd: dir }, undefined)], { stdio: "pipe", detached: true }),
    read: (stdout) => {
      const chunks: Uint8Array[] = [];
      const lines = readToldLines((stream, chunk) => void (stream === "stdout" && chunks.push(chunk)));
      lines.read(stdout.toString());
      return { said: Buffer.concat(chunks), code: lines.end?.code };
    },
  },
};

async function readAll(program: ChildProcessWithoutNullStreams): Promise<readonly [Buffer, Buffer]> {
  const chunks: readonly [Buffer[], Buffer[]] = [[], []];
  program.stdout.on("data", (chunk: Buffer) => chunks[0].push(chunk));
  program.stderr.on("data", (chunk: Buffer) => chunks[1].push(chunk));
  await new Promise((resolve) => program.once("close", resolve));
  return [Buffer.concat(chunks[0]), Buffer.concat(chunks[1])];
}

describe.each(Object.entries(BESIDE))("beside a command: %s", (name, { counted, start, read }) => {
  test("who reads only when the command is long over is given all it said, and then its end", async () => {
    const pidFile = join(dir, `pid-${name}`);
    const program = start(["sh", "-c", `echo $$ > ${pidFile}; seq ${counted}; exit 7`]);
    const isOver = () => {
      const pid = readFileSync(pidFile, "utf8").trim();
      return pid !== "" && spawnSync("kill", ["-0", pid]).status !== 0;
    };
    await expect.poll(isOver, { timeout: 20_000 }).toBe(true);
    // Longer than a silence by which an end could be guessed.
    spawnSync("sleep", ["0.4"]);
    const { said, code } = read(...(await readAll(program)));
    expect(said.toString().trim().split("\n")).toEqual(Array.from({ length: counted }, (_, n) => `${n + 1}`));
    expect(code).toBe(7);
  });

  test("a command is over, with all it said, while others never stop talking in its place", async () => {
    const program = start(["sh", "-c", "yes & seq 20000; exit 3"]);
    const { said, code } = read(...(await readAll(program)));
    expect(code).toBe(3);
    expect(said.toString().replaceAll(/[y\n]/g, "")).toHaveLength(88_894);
  });
});
