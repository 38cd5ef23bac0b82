/** Starts compose.yaml and says what was seen of it, fact by fact; the first that is not so ends it with code 1. Nothing of it stays. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { runSilent, runVisible } from "../steps.ts";

const ADDRESS = "http://127.0.0.1:18000";
const LIMIT_MS = 180_000;
const LOOK_EVERY_MS = 250;
const SECONDS = 20;

const token = randomBytes(24).toString("base64url");
process.env.DROVER_ADMIN_TOKEN = token;
process.env.DROVER_SECRET_KEY = randomBytes(32).toString("base64url");

const COMPOSE = ["docker", "compose", "--project-name", "drover-seen"];

async function compose(...args: readonly string[]): Promise<string> {
  const { code, output } = await runSilent([...COMPOSE, ...args]);
  equal(code, 0, `docker compose ${args.join(" ")}: ${output}`);
  return output.trim();
}

const within = (server: string, ...command: readonly string[]) => compose("exec", "-T", server, ...command);
const AT_ONCE = ["up", "--detach", "--wait", "--wait-timeout", String(LIMIT_MS / 1_000)];

async function call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const answer = await fetch(`${ADDRESS}${path}`, {
    method,
    headers: {
      ...(headers["cookie"] === undefined ? { authorization: `Bearer ${token}` } : {}),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(LIMIT_MS),
  });
  return { status: answer.status, headers: answer.headers, text: await answer.text() } as const;
}

async function until<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  const deadline = performance.now() + LIMIT_MS;
  for (;;) {
    const seen = await look().catch(() => undefined); // expected: what is asked is just starting
    if (seen !== undefined) return seen;
    ok(performance.now() < deadline, `not within ${LIMIT_MS / 1_000} s: ${what}`);
    await setTimeout(LOOK_EVERY_MS);
  }
}

const isReady = async () => ((await call("GET", "/readyz")).status === 200 ? true : undefined);

interface Run {
  readonly id: string;
  readonly state: string;
  readonly state_cause: string | null;
  readonly event_count: number;
}

const readRun = async (id: string) => JSON.parse((await call("GET", `/api/v1/sandboxes/${id}`)).text) as Run;

async function startRun(project: string, seconds: number): Promise<string> {
  const command = { argv: ["sh", "-c", `id -u; sleep ${seconds}; echo made > made.txt`], timeout: 120 };
  const script = { name: "seen", steps: [{ text: "Begun." }, { command }, { text: "Done." }] };
  const asked = { project_id: project, runtime: "scripted", prompt: "Make a file", script };
  const { status, text } = await call("POST", "/api/v1/sandboxes", asked);
  equal(status, 201, text);
  return (JSON.parse(text) as Run).id;
}

const ENDED: ReadonlySet<string> = new Set(["completed", "failed", "cancelled", "terminated"]);
const untilState = (id: string, isIt: (run: Run) => boolean) =>
  until(`${id} is as wanted`, async () => {
    const run = await readRun(id);
    return isIt(run) ? run : undefined;
  });

/** Which server's machine a run stands on. */
async function findServer(id: string): Promise<string> {
  for (const server of ["server-a", "server-b"])
    if ((await within(server, "ls", "/data/sandboxes")).includes(id)) return server;
  throw new Error(`${id} is on neither`);
}

/** How many requests were answered meanwhile, each with 200. */
async function askDuring(work: () => Promise<unknown>): Promise<number> {
  const over = new AbortController();
  let answered = 0;
  const asking = (async () => {
    while (!over.signal.aborted) {
      const { status, text } = await call("GET", "/api/v1/projects");
      equal(status, 200, text);
      answered += 1;
      await setTimeout(LOOK_EVERY_MS / 10);
    }
  })();
  await Promise.race([asking, work()]);
  over.abort();
  await asking;
  return answered;
}

const SERVER = "cat /proc/1/task/1/children | cut -d' ' -f1";
const kill = (server: string) => within(server, "sh", "-c", `kill -9 $(${SERVER})`);
const countStarts = async (server: string) =>
  (await compose("logs", "--no-log-prefix", server)).match(/drover ready /g)?.length ?? 0;
/** How many requests were answered from before its end until it is ready again. */
async function askWhileBack(server: string, end: () => Promise<unknown>): Promise<string> {
  const before = await countStarts(server);
  const isBack = async () => ((await countStarts(server)) > before ? true : undefined);
  const work = () => end().then(() => until(`${server} comes back`, isBack));
  return `${await askDuring(work)} requests answered`;
}

let project = "";
let first = "";

const FACTS: readonly (readonly [sentence: string, see: () => Promise<string>])[] = [
  [
    "PostgreSQL, Redis and both servers become healthy, and nginx answers for them",
    async () => {
      await compose(...AT_ONCE);
      await until("nginx answers", isReady);
      const { text, headers } = await call("GET", "/");
      match(text, /<html/);
      return `${JSON.parse((await call("GET", "/readyz")).text).database}, ${headers.get("server")}`;
    },
  ],
  [
    "the servers are nobody, without capabilities",
    async () => {
      equal(await within("server-a", "sh", "-c", "id -u"), "10001");
      const rights = await within("server-a", "grep", "CapEff\\|CapBnd\\|NoNewPrivs", "/proc/1/status");
      deepEqual(rights.replaceAll(/\s+/g, " "), "CapEff: 0000000000000000 CapBnd: 0000000000000000 NoNewPrivs: 1");
      return "uid 10001";
    },
  ],
  [
    "the link that a server prints logs in, once",
    async () => {
      const code = /\/login#(\S+)/.exec(await compose("logs", "--no-log-prefix", "server-a"))?.[1];
      const headers = { origin: ADDRESS, cookie: "" };
      const login = await call("POST", "/api/v1/auth/login", { token: code }, headers);
      equal(login.status, 200, login.text);
      const cookie = login.headers.get("set-cookie")?.split(";")[0] ?? "";
      const { status, text } = await call("GET", "/api/v1/auth/whoami", undefined, { cookie });
      equal(status, 200);
      equal((await call("POST", "/api/v1/auth/login", { token: code }, headers)).status, 401);
      return (JSON.parse(text) as { role: string }).role;
    },
  ],
  [
    "a project is made, and a run in a sandbox of it completes",
    async () => {
      const made = await call("POST", "/api/v1/projects", { name: "seen" });
      equal(made.status, 201, made.text);
      project = (JSON.parse(made.text) as { id: string }).id;
      first = await startRun(project, 0);
      const run = await untilState(first, ({ state }) => ENDED.has(state));
      equal(run.state, "completed", run.state_cause ?? "");
      return `${run.event_count} events`;
    },
  ],
  [
    "doctor finds nothing broken",
    async () => {
      const said = await within("server-b", "node", "packages/cli/src/main.ts", "doctor");
      match(said, /Everything that is needed works/);
      return "server-b";
    },
  ],
  [
    "a server is started again and nobody who asks notices",
    () => askWhileBack("server-a", () => compose("restart", "server-a")),
  ],
  [
    "a server is killed: it comes back, the other one answers, its runs go on, and those of the dead one are told as failed",
    async () => {
      await compose(...AT_ONCE);
      const runs = [await startRun(project, SECONDS), await startRun(project, SECONDS)];
      const places = new Map<string, string>();
      for (const id of runs) {
        await untilState(id, ({ state, event_count }) => state === "running" && event_count >= 9);
        places.set(id, await findServer(id));
      }
      const [victim = ""] = places.values();
      const answered = await askWhileBack(victim, () => kill(victim));
      for (const [id, server] of places) {
        const { state } = await untilState(id, (run) => ENDED.has(run.state));
        equal(state, server === victim ? "failed" : "completed", id);
      }
      return `${answered}; runs on ${[...places.values()].join(" and ")}`;
    },
  ],
  [
    "PostgreSQL is killed and comes back: the servers say so, and go on",
    async () => {
      await compose("kill", "postgres");
      await until("they say so", async () => ((await call("GET", "/readyz")).status === 503 ? true : undefined));
      await compose("start", "postgres");
      await until("they go on", isReady);
      return "503, then 200";
    },
  ],
  [
    "all containers are removed and made again: project, run, events and artifacts are still there",
    async () => {
      const list = `/api/v1/sandboxes/${first}/events?limit=500&order=asc`;
      const before = (await call("GET", list)).text;
      await compose("down");
      await compose(...AT_ONCE);
      await until("nginx answers", isReady);
      equal((await call("GET", `/api/v1/projects/${project}`)).status, 200);
      equal((await call("GET", list)).text, before);
      const run = await untilState(await startRun(project, 0), ({ state }) => ENDED.has(state));
      equal(run.state, "completed");
      return `${before.length} bytes of events, to the byte`;
    },
  ],
];

try {
  for (const [sentence, see] of FACTS) {
    const since = performance.now();
    const seen = await see();
    console.log(`ok  ${sentence} (${seen}; ${((performance.now() - since) / 1_000).toFixed(1)} s)`);
  }
} catch (error) {
  console.error(error);
  await runVisible([...COMPOSE, "ps", "--all"]);
  await runVisible([...COMPOSE, "logs", "--no-color", "--tail", "8"]);
  process.exitCode = 1;
} finally {
  await runVisible([...COMPOSE, "down", "--volumes", "--timeout", "5"]);
}
