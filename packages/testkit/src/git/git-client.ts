/** The real `git` program as a person or an agent uses it, with no settings of this machine. */
import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

export interface GitOutcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface GitClient {
  readonly directory: string;
  /** Never rejects: a test asks how it ended. */
  run(...args: readonly string[]): Promise<GitOutcome>;
  /** Rejects with what Git said unless it ended well. */
  must(...args: readonly string[]): Promise<string>;
  /** Writes files and commits them; the new commit's id. */
  commit(files: Readonly<Record<string, string | Uint8Array>>, message?: string): Promise<string>;
}

const ENV = {
  PATH: process.env["PATH"] ?? "/usr/bin:/bin",
  HOME: "/nonexistent",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_TERMINAL_PROMPT: "0",
  GIT_AUTHOR_NAME: "A Test",
  GIT_AUTHOR_EMAIL: "test@example.org",
  GIT_COMMITTER_NAME: "A Test",
  GIT_COMMITTER_EMAIL: "test@example.org",
  LC_ALL: "C",
};

export function openGitClient(directory: string): GitClient {
  const run: GitClient["run"] = (...args) =>
    new Promise((resolve) => {
      const child = execFile(
        "git",
        args,
        { cwd: directory, env: ENV, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 },
        (error, stdout, stderr) => resolve({ code: error === null ? 0 : (child.exitCode ?? -1), stdout, stderr }),
      );
    });
  const must: GitClient["must"] = async (...args) => {
    const { code, stdout, stderr } = await run(...args);
    if (code !== 0) throw new Error(`git ${args.join(" ")}: ${code}\n${stderr}`);
    return stdout.trim();
  };
  return {
    directory,
    run,
    must,
    commit: async (files, message = "a change") => {
      for (const [path, content] of Object.entries(files)) {
        await mkdir(dirname(join(directory, path)), { recursive: true });
        await writeFile(join(directory, path), content);
      }
      await must("add", "--all");
      await must("commit", "--quiet", "-m", message);
      return must("rev-parse", "HEAD");
    },
  };
}

/** `http://anybody:token@host/...`: the token is the password. */
export const toCloneUrl = (server: string, token: string, path: string): string =>
  `${server.replace("://", `://anybody:${token}@`)}${path}`;

export async function cloneRepository(url: string, directory: string): Promise<GitClient> {
  await mkdir(directory, { recursive: true });
  const client = openGitClient(directory);
  await client.must("clone", "--quiet", url, ".");
  return client;
}
