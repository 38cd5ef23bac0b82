import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Token } from "@drover/contract";
import { describe, expect } from "vitest";
import { createDatabase } from "../../../testkit/src/postgres.ts";
import { ADMIN_TOKEN, startTestServer, test, type TestServer } from "../../../testkit/src/server.ts";
import { sql } from "../store/sql.ts";

const whoami = (server: TestServer, token: string) => server.call("GET", "/auth/whoami", { token });
const cookieOf = (headers: { readonly "set-cookie"?: string[] | undefined }) =>
  (headers["set-cookie"]?.[0] ?? "").split(";")[0] ?? "";
const logIn = (server: TestServer, token: string, headers: Record<string, string> = {}) =>
  server.call("POST", "/auth/login", { token: undefined, body: { token }, headers });

describe("tokens", () => {
  test("a token's secret is shown once and kept as a hash", async ({ server }) => {
    const { status, body } = await server.call("POST", "/tokens", { body: { name: " somebody ", role: "operator" } });
    expect([status, body]).toEqual([
      201,
      expect.objectContaining({
        name: "somebody",
        role: "operator",
        project_id: null,
        revoked_at: null,
        token: expect.stringMatching(/^drv_u_/),
      }),
    ]);
    expect((await whoami(server, body.token)).body).toEqual({
      token_id: body.id,
      name: "somebody",
      role: "operator",
      project_id: null,
    });
    const listed = (await server.call("GET", "/tokens?limit=500")).body.items.find(
      (token: Token) => token.id === body.id,
    );
    expect(listed).not.toHaveProperty("token");
    expect(JSON.stringify(await server.db.query(sql`select * from tokens limit 1000`))).not.toContain(body.token);
    expect(JSON.stringify(await server.db.query(sql`select * from events limit 1000`))).not.toContain(body.token);
    expect(JSON.stringify(await server.db.query(sql`select * from audit limit 1000`))).not.toContain(body.token);
  });

  test("lists page without loss, and an admin of one project sees that project's", async ({ server }) => {
    const project = await server.createProject();
    const made = [];
    for (let n = 0; n < 5; n += 1) made.push((await server.createToken("viewer", project)).id);
    const { token, id } = await server.createToken("admin", project);
    const found: string[] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const { body }: { body: { items: Token[]; next_cursor: string | null } } = await server.call(
        "GET",
        `/tokens?limit=2${cursor === "" ? "" : `&cursor=${cursor}`}`,
        { token },
      );
      found.push(...body.items.map((item) => item.id));
      cursor = body.next_cursor;
    }
    expect(found.toSorted()).toEqual([...made, id].toSorted());
    expect((await server.call("POST", "/tokens", { token, body: { name: "x", role: "admin" } })).body.project_id).toBe(
      project,
    );
  });

  test("a revoked token is out at once; revoking again changes nothing", async ({ server }) => {
    const { id, token } = await server.createToken("admin");
    expect((await whoami(server, token)).status).toBe(200);
    const first = await server.call("DELETE", `/tokens/${id}`);
    expect(first.body.revoked_at).toEqual(expect.any(String));
    expect((await whoami(server, token)).status).toBe(401);
    const again = await server.call("DELETE", `/tokens/${id}`);
    expect(again.body.revoked_at).toBe(first.body.revoked_at);
    const rows = await server.db.query(
      sql`select event_type from events where entity_id = ${id} order by seq limit 10`,
    );
    expect(rows.map((row) => row["event_type"])).toEqual(["token.created", "token.revoked"]);
  });

  test("a token that was revoked while it was being looked up is not remembered", async ({ server }) => {
    for (let n = 0; n < 10; n += 1) {
      const { id, token } = await server.createToken("viewer");
      const [, , late] = await Promise.all([
        whoami(server, token),
        server.call("DELETE", `/tokens/${id}`),
        whoami(server, token),
      ]);
      expect([200, 401]).toContain(late.status);
      expect((await whoami(server, token)).status).toBe(401);
    }
  });

  test("a token runs out in its moment, also one that was just used", async ({ server }) => {
    const expires = new Date(Date.now() + 2_000);
    const { body } = await server.call("POST", "/tokens", {
      body: { name: "short", role: "viewer", expires_at: expires.toISOString() },
    });
    let last = 200;
    let isOver = false;
    while (last === 200 && !isOver) {
      isOver = Date.now() > expires.getTime();
      last = (await whoami(server, body.token)).status;
      if (!isOver && Date.now() < expires.getTime()) expect(last).toBe(200);
    }
    expect(last).toBe(401);
  });

  test("whoever did something stands in the audit, written with the deed", async ({ server }) => {
    const project = await server.createProject();
    const { id, token } = await server.createToken("admin", project);
    const sandbox = await server.createSandbox({}, token);
    await server.call("POST", `/sandboxes/${sandbox.id}/worker-token`, { token });
    await server.call("DELETE", `/sandboxes/${sandbox.id}`, { token });
    await server.call("PATCH", `/projects/${project}`, { token, body: { description: "new" } });
    const made = await server.call("POST", "/tokens", { token, body: { name: "x", role: "viewer" } });
    await server.call("DELETE", `/tokens/${made.body.id}`, { token });
    const rows = await server.db.query(
      sql`select action, target, project_id from audit where actor = ${id} order by id limit 100`,
    );
    expect(rows).toEqual([
      { action: "sandbox.create", target: sandbox.id, project_id: project },
      { action: "sandbox.replace_worker", target: sandbox.id, project_id: project },
      { action: "sandbox.terminate", target: sandbox.id, project_id: project },
      { action: "project.update", target: project, project_id: project },
      { action: "token.create", target: made.body.id, project_id: project },
      { action: "token.revoke", target: made.body.id, project_id: project },
    ]);
  });
});

describe("login", () => {
  test("a token becomes a session cookie that scripts cannot read and other sites cannot send", async ({ server }) => {
    const answer = await logIn(server, ADMIN_TOKEN);
    expect(answer.body).toMatchObject({ role: "admin", project_id: null });
    expect(answer.headers["set-cookie"]?.[0]).toMatch(
      /^drover_session=drv_c_[\w-]+; Path=\/; HttpOnly; SameSite=Strict; Max-Age=\d+$/,
    );
    const headers = { cookie: cookieOf(answer.headers) };
    expect((await server.call("GET", "/auth/whoami", { token: undefined, headers })).status).toBe(200);
    const out = await server.call("POST", "/auth/logout", { token: undefined, headers });
    expect(out.headers["set-cookie"]?.[0]).toContain("Max-Age=0");
    expect((await server.call("GET", "/auth/whoami", { token: undefined, headers })).status).toBe(401);
  });

  test("a login link works once", async () => {
    await using server = await startTestServer();
    const code = server.running.loginUrl.split("#")[1] ?? "";
    expect(server.running.loginUrl.startsWith(`${server.url}/login#`)).toBe(true);
    const answers = await Promise.all([1, 2, 3].map(() => logIn(server, code)));
    expect(answers.map((answer) => answer.status).toSorted((a, b) => a - b)).toEqual([200, 401, 401]);
    expect((await logIn(server, code)).status).toBe(401);
  });

  test("a ticket, a worker's token and a session are no logins", async ({ server, sandbox }) => {
    const { body } = await server.call("POST", "/auth/ws-ticket");
    const session = cookieOf((await logIn(server, ADMIN_TOKEN)).headers).split("=")[1]!;
    for (const secret of [body.ticket, sandbox.token, session]) expect((await logIn(server, secret)).status).toBe(401);
  });

  test("a session ends with its token", async ({ server }) => {
    const { id, token } = await server.createToken("viewer");
    const headers = { cookie: cookieOf((await logIn(server, token)).headers) };
    expect((await server.call("GET", "/auth/whoami", { token: undefined, headers })).status).toBe(200);
    await server.call("DELETE", `/tokens/${id}`);
    expect((await server.call("GET", "/auth/whoami", { token: undefined, headers })).status).toBe(401);
  });

  test("failed logins are limited, also when they come at once; other people's are not", async () => {
    await using server = await startTestServer({ config: { loginAttemptsPerMinute: 5 } });
    const answers = await Promise.all(Array.from({ length: 30 }, () => logIn(server, "drv_u_guess")));
    const counts = answers.map((answer) => answer.status);
    expect(counts.filter((status) => status === 401)).toHaveLength(5);
    expect(counts.filter((status) => status === 429)).toHaveLength(25);
    const refused = await logIn(server, ADMIN_TOKEN);
    expect([refused.status, Number(refused.headers["retry-after"]) > 0]).toEqual([429, true]);
    expect((await whoami(server, ADMIN_TOKEN)).status).toBe(200);
  });

  test("good logins are not counted", async () => {
    await using server = await startTestServer({ config: { loginAttemptsPerMinute: 3 } });
    for (let n = 0; n < 10; n += 1) expect((await logIn(server, ADMIN_TOKEN)).status).toBe(200);
  });
});

describe("starting", () => {
  test("a server starts again after the configured admin's and the command line's tokens were revoked, and they stay revoked", async () => {
    await using database = await createDatabase();
    const dataDir = await mkdtemp(join(tmpdir(), "drover-again-"));
    const first = await startTestServer({ database, dataDir });
    const other = await first.createToken("admin");
    const known = first.running.cliToken;
    for (const token of [known, ADMIN_TOKEN]) {
      const { body } = await whoami(first, token);
      expect((await first.call("DELETE", `/tokens/${body.token_id}`, { token: other.token })).status).toBe(200);
    }
    await first.stop();
    const second = await startTestServer({ database, dataDir });
    expect((await whoami(second, ADMIN_TOKEN)).status).toBe(401);
    expect((await whoami(second, known)).status).toBe(401);
    expect((await whoami(second, other.token)).status).toBe(200);
    expect((await whoami(second, second.running.cliToken)).status).toBe(200);
    await second.stop();
    await rm(dataDir, { recursive: true });
  });

  test("two replicas start at once on one new database", async () => {
    await using database = await createDatabase();
    const servers = await Promise.all([1, 2].map(() => startTestServer({ database })));
    for (const server of servers) expect((await whoami(server, ADMIN_TOKEN)).status).toBe(200);
    const { body } = await servers[0]!.call("GET", "/projects");
    expect(body.items.filter((project: { is_default: boolean }) => project.is_default)).toHaveLength(1);
    for (const server of servers) await server.stop();
  });
});
