/** A workspace on the machine of an agent server, over its endpoints for commands and files. */
import { posix } from "node:path";
import { AppError } from "@drover/contract";
import { z } from "zod";
import { EXEC_LIMIT_MS, FILE_LIMIT_BYTES, NEVER, type ExecOptions, type Workspace } from "./workspace.ts";

const MARGIN_MS = 10_000;
const Output = z.looseObject({
  exit_code: z.number().nullable(),
  stdout: z.string().nullish(),
  stderr: z.string().nullish(),
  timeout_occurred: z.boolean().optional(),
});

export interface RemoteWorkspaceOptions {
  readonly url: string;
  readonly key?: string | undefined;
  /** Made if it is not there; then it is also removed at the end. */
  readonly directory: string;
  readonly signal?: AbortSignal;
}

export interface RemoteWorkspace extends Workspace {
  readonly mode: "remote";
  readonly url: string;
  readonly key: string | undefined;
}

/** The one form that a shell takes as it is. */
const quote = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;

/** `find` writes name, kind and size, each with a NUL behind. */
function parseListing(text: string) {
  const words = text.split("\0");
  const kinds = { f: "file", d: "directory", l: "symlink" } as const;
  return Array.from({ length: Math.floor(words.length / 3) }, (_, index) => {
    const [name = "", kind = "", size = "0"] = words.slice(index * 3, index * 3 + 3);
    return { name, kind: kinds[kind as keyof typeof kinds] ?? ("other" as const), size: Number(size) };
  });
}

export async function openRemoteWorkspace(options: RemoteWorkspaceOptions): Promise<RemoteWorkspace> {
  const base = options.url.replace(/\/+$/, "");
  const { directory, key } = options;
  if (!posix.isAbsolute(directory))
    throw new AppError("config.invalid", "the directory of a remote workspace is absolute");

  const ask = async (method: string, path: string, body: BodyInit | undefined, type: string, limit: AbortSignal) => {
    const answer = await fetch(base + path, {
      method,
      headers: {
        ...(key === undefined ? {} : { "x-session-api-key": key }),
        ...(type === "" ? {} : { "content-type": type }),
      },
      ...(body === undefined ? {} : { body }),
      redirect: "error",
      signal: limit,
    }).catch((cause: unknown) => {
      throw new AppError("sandbox.unavailable", `no agent server answers at ${base}`, { cause });
    });
    if (answer.ok) return answer;
    const said = (await answer.text()).slice(0, 500);
    throw new AppError(answer.status === 404 ? "file.not_found" : "sandbox.rejected", `${answer.status} ${said}`);
  };
  const toFile = (path: string) => posix.resolve(directory, path);

  const exec = async (
    argv: readonly [string, ...string[]],
    { cwd, env = {}, timeoutMs = EXEC_LIMIT_MS, signal = NEVER }: ExecOptions = {},
  ) => {
    const assignments = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    const words = assignments.length === 0 ? argv : ["env", ...assignments, ...argv];
    const body = JSON.stringify({
      command: words.map(quote).join(" "),
      cwd: cwd === undefined ? directory : toFile(cwd),
      timeout: Math.max(0.001, timeoutMs / 1_000),
    });
    const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs + MARGIN_MS)]);
    const answer = await ask("POST", "/api/bash/execute_bash_command", body, "application/json", limit);
    const { exit_code, stdout, stderr, timeout_occurred: timedOut = false } = Output.parse(await answer.json());
    return { exitCode: timedOut ? null : exit_code, stdout: stdout ?? "", stderr: stderr ?? "", timedOut };
  };
  const must = async (argv: readonly [string, ...string[]], given: ExecOptions = {}) => {
    const result = await exec(argv, given);
    if (result.exitCode !== 0)
      throw new AppError("sandbox.rejected", result.stderr.slice(-2_000) || `${argv[0]} failed`);
    return result;
  };

  const signal = options.signal ?? NEVER;
  const isNew = (await exec(["test", "-e", directory], { cwd: "/", signal })).exitCode !== 0;
  if (isNew) await must(["mkdir", "-p", "--", directory], { cwd: "/", signal });
  let ended: Promise<void> | undefined;
  const dispose = () =>
    (ended ??= isNew ? must(["rm", "-rf", "--", directory], { cwd: "/" }).then(() => undefined) : Promise.resolve());

  return {
    mode: "remote",
    id: `${base}${directory}`,
    url: base,
    key,
    directory,
    exec,
    readFile: async (path, given = NEVER) => {
      const query = new URLSearchParams({ path: toFile(path) });
      const answer = await ask("GET", `/api/file/download?${query}`, undefined, "", given);
      const bytes = new Uint8Array(await answer.arrayBuffer());
      if (bytes.byteLength > FILE_LIMIT_BYTES) throw new AppError("request.too_large", `${path} is too large`);
      return bytes;
    },
    writeFile: async (path, content, given = NEVER) => {
      const query = new URLSearchParams({ path: toFile(path) });
      const body = typeof content === "string" ? content : new Uint8Array(content);
      await ask("POST", `/api/file/upload?${query}`, body, "application/octet-stream", given);
    },
    list: async (path = ".", given = NEVER) => {
      const argv = ["find", toFile(path), "-mindepth", "1", "-maxdepth", "1", "-printf", "%f\\0%y\\0%s\\0"] as const;
      return parseListing((await must(argv, { signal: given })).stdout);
    },
    gitClone: async (repo, { branch, signal: given = NEVER } = {}) => {
      const wanted = branch === undefined ? [] : ["--branch", branch];
      await must(["git", "clone", "--quiet", ...wanted, "--", repo, "."], { signal: given, timeoutMs: 600_000 });
    },
    dispose,
    [Symbol.asyncDispose]: dispose,
  };
}
