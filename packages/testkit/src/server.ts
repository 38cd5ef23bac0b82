/** The real server, in this process, on a copy of the migrated database, with a client for every way of calling it. */
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { Agent } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  API_BASE,
  type Config,
  type CreatedSandbox,
  type NewSandbox,
  type ProjectId,
  type Role,
  type SandboxId,
} from "@drover/contract";
import { test as base } from "vitest";
import { resolveConfig } from "../../server/src/config.ts";
import { startServer } from "../../server/src/main.ts";
import type { RunningServer } from "../../server/src/main.ts";
import type { Deps } from "../../server/src/app/deps.ts";
import type { Clock } from "../../server/src/ports/clock.ts";
import type { Db } from "../../server/src/ports/db.ts";
import type { Fault } from "../../server/src/ports/fault.ts";
import type { Log } from "../../server/src/ports/log.ts";
import { callHttp, type Answer, type CallOptions } from "./http-call.ts";
import { openLiveStream, type LiveStream, type StreamOptions } from "./live-stream.ts";
import { createDatabase } from "./postgres.ts";
import { silentLog } from "./silent-log.ts";

export const ADMIN_TOKEN = "drv_u_the-admin-of-the-tests";

export interface TestServerOptions {
  /** A database that outlives this server; without it a copy of the template is made and dropped again. */
  readonly database?: { readonly url: string; readonly db: Db };
  readonly config?: Partial<Config>;
  /** A directory that outlives this server; without it one is made and removed again. */
  readonly dataDir?: string;
  readonly log?: Log;
  readonly fault?: Fault;
  readonly clock?: Clock;
}

/** A sandbox of provider `external` and its worker's token. */
export interface TestSandbox {
  readonly id: SandboxId;
  readonly token: string;
  readonly created: CreatedSandbox;
  /** Posts as its worker. */
  post(body: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer>;
}

export interface TestToken {
  readonly id: string;
  readonly token: string;
}

export interface TestServer extends AsyncDisposable {
  readonly url: string;
  readonly deps: Deps;
  readonly db: Db;
  readonly running: RunningServer;
  readonly dataDir: string;
  /** `path` is below the API's base path. As the admin, unless another token, or `undefined` for none, is given. */
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  /** `path` is the whole path; without a credential unless one is given. */
  request(method: string, path: string, options?: CallOptions): Promise<Answer>;
  createSandbox(input?: NewSandbox, token?: string): Promise<TestSandbox>;
  createProject(name?: string): Promise<ProjectId>;
  createToken(role: Role, projectId?: string): Promise<TestToken>;
  /** As the admin, unless `token` is another one or `undefined` for none. Closed with the server. */
  openStream(options?: StreamOptions & { readonly token?: string | undefined }): Promise<LiveStream>;
  stop(): Promise<void>;
}

/** Fails with the whole answer, because a bare status says little. */
function expectStatus(answer: Answer, status: number, what: string): Answer {
  if (answer.status !== status) throw new Error(`${what}: ${answer.status} ${answer.text}`);
  return answer;
}

/** Local sandboxes outlive their server on purpose; what a test made ends with the test. Called when the server has stopped: until then
 *  it may make further ones. */
async function destroySandboxes(deps: Deps, dataDir: string): Promise<void> {
  if (!existsSync(join(dataDir, "sandboxes"))) return;
  const { signal } = new AbortController();
  const local = await deps.providers.open("local");
  for (const ref of await local.list({}, signal)) await local.destroy(ref, signal);
}

let names = 0;

export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const own = options.database === undefined ? await createDatabase() : undefined;
  const database = options.database ?? own;
  if (database === undefined) throw new Error("there is no database");
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), "drover-server-")));
  const running = await startServer({
    config: {
      ...resolveConfig({}).config,
      port: 0,
      dataDir,
      databaseUrl: database.url,
      databasePoolSize: 8,
      // What a test leaves under way is not waited for.
      drainSeconds: 0,
      warmLocal: 0,
      warmDocker: 0,
      // What fails in a test stays as the test left it.
      diagnosticEnabled: false,
      adminToken: ADMIN_TOKEN,
      ...options.config,
    },
    log: options.log ?? silentLog,
    signal: new AbortController().signal,
    ...(options.fault === undefined ? {} : { fault: options.fault }),
    ...(options.clock === undefined ? {} : { clock: options.clock }),
  });
  const agent = new Agent({ keepAlive: true });
  const streams = new Set<LiveStream>();

  const request: TestServer["request"] = (method, path, given = {}) =>
    callHttp(running.url, agent, method, path, given);
  const call: TestServer["call"] = (method, path, given = {}) =>
    request(method, API_BASE + path, { token: ADMIN_TOKEN, ...given });

  let stopped: Promise<void> | undefined;
  const stop = () =>
    (stopped ??= (async () => {
      for (const stream of streams) stream.close();
      agent.destroy();
      await running.stop();
      if (options.dataDir === undefined) await destroySandboxes(running.deps, dataDir);
      await own?.drop();
      if (options.dataDir === undefined) await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
    })());

  return {
    url: running.url,
    deps: running.deps,
    db: database.db,
    running,
    dataDir,
    call,
    request,
    createSandbox: async (input = {}, token = ADMIN_TOKEN) => {
      const answer = await call("POST", "/sandboxes", { token, body: { provider: "external", ...input } });
      const created = expectStatus(answer, 201, "create a sandbox").body as CreatedSandbox;
      const workerToken = created.worker_token ?? "";
      return {
        id: created.id,
        token: workerToken,
        created,
        post: (body, headers = {}) =>
          call("POST", `/sandboxes/${created.id}/events`, { token: workerToken, body, headers }),
      };
    },
    createProject: async (name = `project ${(names += 1)} of ${process.pid}`) =>
      expectStatus(await call("POST", "/projects", { body: { name } }), 201, "create a project").body.id as ProjectId,
    createToken: async (role, projectId) => {
      const body = {
        name: `${role} ${(names += 1)}`,
        role,
        ...(projectId === undefined ? {} : { project_id: projectId }),
      };
      return expectStatus(await call("POST", "/tokens", { body }), 201, "create a token").body as TestToken;
    },
    openStream: async (given = {}) => {
      const token = "token" in given ? given.token : ADMIN_TOKEN;
      const stream = await openLiveStream(`${running.url.replace("http", "ws")}${API_BASE}/ws/events`, {
        ...given,
        headers: { ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), ...given.headers },
      });
      streams.add(stream);
      return stream;
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** `server` is started once per file; `sandbox` is fresh for each test. */
export const test = base.extend<{ $test: { sandbox: TestSandbox }; $file: { server: TestServer } }>({
  server: [
    async ({}, use) => {
      await using server = await startTestServer();
      await use(server);
    },
    { scope: "file" },
  ],
  sandbox: async ({ server }, use) => {
    await use(await server.createSandbox());
  },
});
