/** Every command of the documentation is run as it stands, or is in the table of those that are not: what a reader copies works. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, test as base } from "vitest";
import { startDrover } from "../drover-process.ts";
import { ADMIN_TOKEN, startTestServer, type TestServer } from "../server.ts";

const ROOT = join(import.meta.dirname, "../../../..");
const PAGES = ["README.md", "examples/README.md", ...globSync("docs/*.md", { cwd: ROOT }).sort()];

/** Not run here, and where they are. */
const ELSEWHERE: readonly (readonly [RegExp, string])[] = [
  [/^npm ci && npm (start|test)$/, "how these tests were reached"],
  [/npm start\b/, "the server stands already; ANTHROPIC_API_KEY: src/agents"],
  [/^export ANTHROPIC_API_KEY=/, "as above"],
  [/\bagents (install|remove) claude\b/, "366 MB: src/agents, cli/src/verbs.test.ts"],
  [/--runtime claude\b/, "the agent of the line above: src/agents"],
  [/ send <id> "Leave the public API as it is"$/, "speaks to that agent; other messages are sent below"],
  [/\brun --direct\b/, "an agent, and an engine: packages/harness"],
  [/\barchive (export|verify|import)\b/, "a run of their own: server/src/app/archive"],
  [/\battach\b/, "wants somebody at a terminal: cli/src/sandbox-verbs.test.ts"],
  [/^claude mcp add\b/, "another program: server/src/http/mcp.test.ts has its client"],
  [/\bagent-server\b/, "does not end: cli/src/agent-server"],
  [/127\.0\.0\.1:8000\/api\/conversations/, "speaks to the one before"],
  [
    /^docker\b|^podman\b|^systemctl\b|^helm\b|^kubectl\b/,
    "an engine or cluster of the reader's: server/src/adapters/sandbox-docker.test.ts",
  ],
];

/** A command, with the lines that go on after it; comments are the reader's. */
const toCommands = (block: string): readonly string[] => {
  const commands: string[] = [];
  for (const line of block.split("\n")) {
    const before = commands.at(-1);
    const isOpen = before !== undefined && (before.endsWith("\\") || (before.split("'").length - 1) % 2 === 1);
    if (isOpen) commands[commands.length - 1] = `${before}\n${line}`;
    else if (line.trim() !== "" && !line.startsWith("#")) commands.push(line);
  }
  return commands.map((command) => command.replace(/\s+# .*$/, ""));
};

const listCommands = (page: string): readonly string[] =>
  Array.from(
    readFileSync(join(ROOT, page), "utf8").matchAll(/^```sh\n([^]*?)^```/gm),
    ([, block = ""]) => block,
  ).flatMap(toCommands);

/** What a reader sees in one answer and writes into the next command. */
const READER = `set -euo pipefail
drover() {
  local said status=0
  said=$(node packages/cli/src/main.ts "$@" 2>&1) || status=$?
  printf '%s\\n' "$said"
  case "$1 \${2-}" in
    "run "*) id=$(grep -om1 'drover-[0-9a-z-]*' <<<"$said") ;;
    "webhook create") id=$(grep -om1 'hook-[0-9a-f]*' <<<"$said") ;;
    "ticket create") ticket=$(grep -oEm1 '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}' <<<"$said") ;;
    "doctor "*) if [ $status = 1 ]; then status=0; fi ;; # It found something to mend here, and says so.
  esac
  return $status
}
npm() { while [ "$1" != -- ]; do shift; done; shift; drover "$@"; }
curl() {
  case "$*" in *"messages?lease"*) drover send "$SANDBOX_ID" "hello" >&2 ;; esac
  local said; said=$(command curl --fail-with-body "$@"); printf '%s\\n' "$said"
  case "$*" in
    *'"provider": "external"'*) eval "$(node -p 'Object.entries(JSON.parse(process.argv[1]).worker_env).map(([k, v]) => "export " + k + "=" + JSON.stringify(v)).join("\\n")' "$said")" ;;
    *"messages?lease"*) MESSAGE_ID=$(node -p 'JSON.parse(process.argv[1])[0].id' "$said") ;;
  esac
}
find_delivery() { node packages/cli/src/main.ts webhook log "$id" --json | node -p 'const log = JSON.parse(fs.readFileSync(0)); (log.items ?? log)[0].id'; }
`;

const fill = (command: string, url: string): string =>
  command
    .replaceAll("http://127.0.0.1:18000", url)
    .replaceAll("<id>", '"$id"')
    .replaceAll("<ticket>", '"$ticket"')
    .replaceAll("<delivery>", '"$(find_delivery)"');

const test = base.extend<{ $file: { server: TestServer } }>({
  server: [
    async ({}, use) => {
      await using server = await startTestServer({ config: { webhookAllow: "receiver.example,example.com" } });
      await use(server);
    },
    { scope: "file" },
  ],
});

const RUN = new Map(
  PAGES.map((page) => [
    page,
    listCommands(page).filter((command) => !ELSEWHERE.some(([pattern]) => pattern.test(command))),
  ]),
);

test.for([...RUN].filter(([, commands]) => commands.length > 0).map(([page]) => page))(
  "the commands of %s work as they stand",
  async (page, { server }) => {
    const commands = RUN.get(page) ?? [];
    const script = commands.map(
      (command) =>
        `echo ${JSON.stringify(`> ${command}`).replaceAll("$", "\\$").replaceAll("`", "\\`")} >&2\n${fill(command, server.url)}`,
    );
    const ended = await new Promise<{ code: unknown; said: string }>((done) => {
      const env = {
        ...process.env,
        DROVER_URL: server.url,
        DROVER_TOKEN: ADMIN_TOKEN,
        DROVER_ADMIN_TOKEN: ADMIN_TOKEN,
        COLUMNS: "80",
      };
      const child = execFile(
        "bash",
        ["-c", READER + script.join("\n")],
        { cwd: ROOT, env, timeout: 230_000 },
        (error, _, said) => done({ code: error === null ? 0 : (error.code ?? error.signal), said }),
      );
      child.stdin?.end();
    });
    expect(ended.code, ended.said).toBe(0);
  },
);

test("what ends npm start ends the server, and all that it started", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "drover-npm-"));
  const drover = await startDrover({ dataDir, adminToken: ADMIN_TOKEN, isByNpm: true });
  const address = `http://127.0.0.1:${drover.port}/healthz`;
  expect((await fetch(address)).status).toBe(200);
  expect(await drover.stop()).toBe(0);
  await expect(fetch(address)).rejects.toThrow("fetch failed");
  await rm(dataDir, { recursive: true, maxRetries: 5 });
});

test("Ctrl-C is one request, although npm hands on once more what the terminal sent to all", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "drover-npm-"));
  const DATABASE_URL = "postgresql://nobody@127.0.0.1:9/none";
  const child = spawn(process.execPath, ["packages/cli/src/main.ts", "up"], {
    cwd: ROOT,
    stdio: ["ignore", "ignore", "pipe"],
    env: { PATH: process.env["PATH"], DROVER_DATA_DIR: dataDir, DROVER_PORT: "0", DATABASE_URL },
  });
  const ended = once(child, "exit");
  for await (const line of createInterface({ input: child.stderr })) if (line.includes("database.awaited")) break;
  // Two of one kind may arrive as one.
  for (const signal of ["SIGINT", "SIGTERM"] as const) child.kill(signal);
  expect(await ended).toEqual([0, null]);
  await rm(dataDir, { recursive: true, maxRetries: 5 });
});

test("what is not run here is still written somewhere", () => {
  const all = PAGES.flatMap(listCommands);
  for (const [pattern, where] of ELSEWHERE.slice(0, -1))
    expect(
      all.some((command) => pattern.test(command)),
      `${pattern}: ${where}`,
    ).toBe(true);
});
