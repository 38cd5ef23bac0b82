/** A program in one file, in a repository that a sandbox is filled from: what people of other runtimes have installed there. */
import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { NewSandbox } from "@drover/contract";
import { rolldown } from "rolldown";
import { commitFiles } from "../git/commit-files.ts";

const PACKAGES = join(import.meta.dirname, "../../..");
const PROGRAM = "program.mjs";

export interface Brought extends AsyncDisposable {
  /** What the sandbox is made with. */
  readonly input: NewSandbox;
}

async function bundle(entry: string): Promise<string> {
  await using made = await rolldown({ input: join(PACKAGES, entry), platform: "node", logLevel: "warn" });
  const { output } = await made.generate({ format: "esm", codeSplitting: false });
  return output[0].code;
}

async function bring(entry: string, command: readonly string[], more: Readonly<Record<string, string>> = {}) {
  const repo = await mkdtemp(join(tmpdir(), "drover-brought-"));
  const git = (...args: string[]) => execFileSync("git", ["--git-dir", repo, ...args]);
  git("init", "-q", "--bare", "-b", "main");
  git("update-ref", "refs/heads/main", commitFiles(repo, { files: { [PROGRAM]: await bundle(entry), ...more } }));
  return {
    input: { repo, command: [...command] },
    [Symbol.asyncDispose]: () => rm(repo, { recursive: true, force: true }),
  };
}

/** Our ACP agent without a model. */
export const bringAcpAgent = (): Promise<Brought> => bring("testkit/src/acp/scripted-acp-agent.ts", ["node", PROGRAM]);

/** What it keeps is not among the workspace's files. */
const START_SERVER = `import { startAgentServer } from "./${PROGRAM}";
await startAgentServer({
  host: "127.0.0.1", port: Number(process.argv[2]), key: undefined, corsOrigins: [], webhooks: [], env: process.env,
  directory: process.env.HOME + "/conversations",
});
`;

/** Our agent server, which speaks to models as an OpenHands one does. */
export const bringAgentServer = (): Promise<Brought> =>
  bring("cli/src/agent-server/serve.ts", ["node", "start.mjs", "{port}"], { "start.mjs": START_SERVER });
