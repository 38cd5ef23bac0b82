/** Commands, files and the log of a real local sandbox, through the real server. */
import { describe, expect } from "vitest";
import { startLocal, test, untilSandbox } from "../../../testkit/src/local-sandbox.ts";
import type { TestServer } from "../../../testkit/src/server.ts";

const exec = (server: TestServer, id: string, body: object, token?: string) =>
  server.call("POST", `/sandboxes/${id}/exec`, { body, ...(token === undefined ? {} : { token }) });

const sh = async (server: TestServer, id: string, script: string, more: object = {}) =>
  (await exec(server, id, { argv: ["sh", "-c", script], ...more })).body;

describe("exec", { timeout: 120_000 }, () => {
  test("answers with the code and the output of a command in the workspace", async ({ server, local }) => {
    const { status, body } = await exec(server, local, {
      argv: ["sh", "-c", 'pwd; echo "$GREETING" >&2; exit 3'],
      env: { GREETING: "grüß dich" },
    });
    expect(status).toBe(200);
    expect(body).toEqual({
      exit_code: 3,
      stdout: "/workspace\n",
      stderr: "grüß dich\n",
      stdout_truncated: false,
      stderr_truncated: false,
      stdout_lossy: false,
      stderr_lossy: false,
      timed_out: false,
      oom_killed: false,
    });
  });

  test("a relative directory counts from the workspace", async ({ server, local }) => {
    await sh(server, local, "mkdir -p a/b");
    expect(await sh(server, local, "pwd", { cwd: "a/b" })).toMatchObject({ stdout: "/workspace/a/b\n" });
    expect(await sh(server, local, "pwd", { cwd: "/tmp" })).toMatchObject({ stdout: "/tmp\n" });
  });

  test("long output is cut and says so; output that is no text says so", async ({ server, local }) => {
    const long = await sh(server, local, "head -c 3000000 /dev/zero | tr '\\0' x; printf 'a\\377b' >&2");
    expect(long).toMatchObject({ exit_code: 0, stdout_truncated: true, stderr: "a\uFFFDb", stderr_lossy: true });
    expect(long.stdout).toBe("x".repeat(1024 * 1024));
  });

  test("a command that takes too long is killed with all it started", async ({ server, local }) => {
    const nap = `86399.${process.pid}`;
    const slow = await sh(server, local, `sleep ${nap} & sleep ${nap}`, { timeout_s: 0.3 });
    expect(slow).toMatchObject({ exit_code: null, signal: "SIGKILL", timed_out: true });
    expect(await sh(server, local, `pgrep -f 'sleep ${nap.replace(".", "[.]")}' || echo none`)).toMatchObject({
      stdout: "none\n",
    });
  });

  test("who ran what is noted, without the environment", async ({ server, local }) => {
    const { token, id } = await server.createToken("operator");
    await exec(server, local, { argv: ["true", "noted"], env: { SECRET: "not-noted" } }, token);
    const [entry] = await server.db.query({
      text: "select actor, target, detail::text as detail from audit where action = 'sandbox.exec' order by id desc limit 1",
      values: [],
    });
    expect(entry).toMatchObject({ actor: id, target: local, detail: expect.stringContaining("noted") });
    expect(entry?.["detail"]).not.toContain("not-noted");
  });
});

describe("files", { timeout: 120_000 }, () => {
  test("a directory is listed, a file is read byte by byte", async ({ server, local }) => {
    await sh(server, local, "mkdir -p files; cd files; printf 'a\\000\\377' > 'two words'; mkdir d; ln -s / out");
    const { body } = await server.call("GET", `/sandboxes/${local}/files?path=files`);
    expect(body).toEqual({
      path: "/workspace/files",
      entries: [
        { name: "d", kind: "directory", size: expect.any(Number), modified_at: expect.stringMatching(/^20.*Z$/) },
        { name: "out", kind: "symlink", size: 1, modified_at: expect.any(String) },
        { name: "two words", kind: "file", size: 3, modified_at: expect.any(String) },
      ],
    });
    const read = await server.call("GET", `/sandboxes/${local}/files/content?path=files/two%20words`);
    expect(read.status).toBe(200);
    expect([...read.bytes]).toEqual([0x61, 0, 0xff]);
    expect(read.headers).toMatchObject({
      "content-type": "application/octet-stream",
      "content-disposition": "attachment; filename*=UTF-8''two%20words",
      "x-content-type-options": "nosniff",
    });
  });

  test("a name that an agent chose stays inside its header", async ({ server, local }) => {
    const name = `x";\r\nset-cookie: a='b'*`;
    await exec(server, local, { argv: ["touch", name] });
    const read = await server.call("GET", `/sandboxes/${local}/files/content?path=${encodeURIComponent(name)}`);
    expect(read.headers["set-cookie"]).toBeUndefined();
    expect(read.headers["content-disposition"]).toMatch(/^attachment; filename\*=UTF-8''[\w%.-]+$/);
  });

  test.for([
    ["files?path=nowhere", 404],
    ["files/content?path=nowhere", 404],
    ["files/content?path=/workspace", 422],
    ["files/content?path=/dev/zero", 422],
    ["files/content?path=large", 422],
  ] as const)("%s is %i", async ([path, status], { server, local }) => {
    await sh(server, local, "truncate -s 20M large");
    expect((await server.call("GET", `/sandboxes/${local}/${path}`)).status).toBe(status);
  });

  test("the host is not in there", async ({ server, local }) => {
    await sh(server, local, `ln -sfn '${server.dataDir}' host`);
    expect((await server.call("GET", `/sandboxes/${local}/files?path=host`)).status).toBe(404);
    expect((await server.call("GET", `/sandboxes/${local}/files?path=../../../..${server.dataDir}`)).status).toBe(404);
  });
});

describe("logs", { timeout: 120_000 }, () => {
  test("show what the worker wrote, and go on where a reader stopped", async ({ server, local }) => {
    await sh(server, local, "echo one more line >> /home/agent/.drover-worker/worker.log");
    const { body } = await server.call("GET", `/sandboxes/${local}/logs`);
    expect(body).toMatchObject({
      sandbox_id: local,
      source: "sandbox",
      text: expect.stringMatching(/one more line\n$/),
    });
    await sh(server, local, "echo another >> /home/agent/.drover-worker/worker.log");
    const more = await server.call("GET", `/sandboxes/${local}/logs?offset=${body.next_offset}`);
    expect(more.body).toMatchObject({ text: "another\n", offset: body.next_offset });
    const tail = await server.call("GET", `/sandboxes/${local}/logs?bytes=8`);
    expect(tail.body).toMatchObject({ text: "another\n", next_offset: more.body.next_offset });
  });

  test("are kept when the sandbox ends", async ({ server }) => {
    const id = await startLocal(server);
    await sh(server, id, "echo last words >> /home/agent/.drover-worker/worker.log");
    await server.call("DELETE", `/sandboxes/${id}`);
    await untilSandbox(server, id, { last_event_type: "TERMINATED" });
    const { body } = await server.call("GET", `/sandboxes/${id}/logs`);
    expect(body).toMatchObject({ source: "kept", text: expect.stringContaining("last words\n") });
    const rest = await server.call("GET", `/sandboxes/${id}/logs?offset=${body.next_offset}`);
    expect(rest.body).toMatchObject({ source: "kept", text: "", next_offset: body.next_offset });
  });
});

describe("what cannot be entered", { timeout: 120_000 }, () => {
  const calls = (id: string) => [
    ["POST", `/sandboxes/${id}/exec`, { argv: ["true"] }] as const,
    ["GET", `/sandboxes/${id}/files`, undefined] as const,
    ["GET", `/sandboxes/${id}/files/content?path=x`, undefined] as const,
  ];

  test("a sandbox that has ended is 409", async ({ server }) => {
    const id = await startLocal(server);
    await server.call("DELETE", `/sandboxes/${id}`);
    for (const [method, path, body] of calls(id))
      expect((await server.call(method, path, { body })).status, path).toBe(409);
  });

  test("a sandbox that Drover did not make is 422 and says why", async ({ server, sandbox }) => {
    for (const [method, path, body] of calls(sandbox.id)) {
      const answer = await server.call(method, path, { body });
      expect(answer.status, path).toBe(422);
      expect(answer.body.detail).toContain("provider external");
    }
  });

  test("a viewer reads files and runs nothing", async ({ server, local }) => {
    const { token } = await server.createToken("viewer");
    expect((await server.call("GET", `/sandboxes/${local}/files`, { token })).status).toBe(200);
    expect((await exec(server, local, { argv: ["true"] }, token)).status).toBe(403);
  });

  test("a sandbox for a prompt has no task", async ({ server, local }) => {
    const answer = await server.call("GET", `/sandboxes/${local}/task`);
    expect(answer.status).toBe(404);
    expect(answer.body.type).toContain("task.not_found");
  });
});
