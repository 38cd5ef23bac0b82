import type { Project } from "@drover/contract";
import { expect } from "vitest";
import { test } from "../../../testkit/src/server.ts";
import { loadProject } from "../store/projects.ts";

test("a project is created, changed and read back", async ({ server }) => {
  const { status, body } = await server.call("POST", "/projects", {
    body: { name: "  herd ", description: "d", repo: "https://example.org/a.git" },
  });
  expect([status, body]).toEqual([
    201,
    {
      id: expect.stringMatching(/^project-/),
      name: "herd",
      description: "d",
      repo: "https://example.org/a.git",
      is_default: false,
      status: "active",
      autonomous_execution_enabled: false,
      settings: {},
      created_at: expect.stringMatching(/Z$/),
    },
  ]);
  const changed = await server.call("PATCH", `/projects/${body.id}`, { body: { name: "flock", description: null } });
  expect(changed.body).toEqual({ ...body, name: "flock", description: null });
  expect((await server.call("GET", `/projects/${body.id}`)).body).toEqual(changed.body);
  expect((await server.call("PATCH", `/projects/${body.id}`, { body: {} })).body).toEqual(changed.body);
});

test("settings are merged, and a key that is null goes away", async ({ server }) => {
  const id = await server.createProject();
  const change = async (body: unknown) => (await server.call("PATCH", `/projects/${id}`, { body })).body;
  await change({ settings: { runtime: "scripted", max_concurrent_tasks: 2 }, autonomous_execution_enabled: true });
  expect(await change({ settings: { runtime: null, auto_merge: false } })).toMatchObject({
    autonomous_execution_enabled: true,
    settings: { max_concurrent_tasks: 2, auto_merge: false },
  });
  expect(
    (await server.call("PATCH", `/projects/${id}`, { body: { settings: { max_concurrent_tasks: 0 } } })).status,
  ).toBe(422);
});

test("two projects of one name are 409, also when they come at once", async ({ server }) => {
  const made = await Promise.all(
    Array.from({ length: 8 }, () => server.call("POST", "/projects", { body: { name: "same" } })),
  );
  expect(made.map((answer) => answer.status).toSorted((a, b) => a - b)).toEqual([
    201,
    ...Array.from({ length: 7 }, () => 409),
  ]);
  const ids = await Promise.all(Array.from({ length: 6 }, () => server.createProject()));
  const renamed = await Promise.all(
    ids.map((id) => server.call("PATCH", `/projects/${id}`, { body: { name: "renamed" } })),
  );
  expect(renamed.map((answer) => answer.status).toSorted((a, b) => a - b)).toEqual([
    200,
    ...Array.from({ length: 5 }, () => 409),
  ]);
  expect((await server.call("PATCH", `/projects/${ids[0]}`, { body: { name: "same" } })).status).toBe(409);
});

test("a person of one project sees that one", async ({ server }) => {
  const id = await server.createProject();
  const { token } = await server.createToken("viewer", id);
  const { body } = await server.call("GET", "/projects", { token });
  expect(body.items.map((project: Project) => project.id)).toEqual([id]);
});

test("pages lose and repeat nothing", async ({ server }) => {
  for (let n = 0; n < 5; n += 1) await server.createProject();
  const all = (await server.call("GET", "/projects?limit=500")).body.items.map((project: Project) => project.id);
  const found: string[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const { body }: { body: { items: Project[]; next_cursor: string | null } } = await server.call(
      "GET",
      `/projects?limit=3${cursor === "" ? "" : `&cursor=${cursor}`}`,
    );
    found.push(...body.items.map((project) => project.id));
    cursor = body.next_cursor;
  }
  expect(found).toEqual(all);
});

/** Broken on purpose, each seen to fail here: the address is shown as it is; what was shown is kept in its place. */
test("the password of a repository's address is shown to nobody, and is kept when what was shown comes back", async ({
  server,
}) => {
  const repo = "https://somebody:a-password@example.org/a.git";
  const created = await server.call("POST", "/projects", { body: { name: "fenced", repo } });
  const shown = "https://***@example.org/a.git";
  expect(created.body.repo).toBe(shown);
  const path = `/projects/${created.body.id}`;
  const saved = await server.call("PATCH", path, { body: { description: "d", repo: shown } });
  expect([saved.body.repo, (await server.call("GET", "/projects")).text.includes("a-password")]).toEqual([
    shown,
    false,
  ]);
  const kept = async () => (await loadProject.one(server.db, created.body.id)).repo;
  expect(await kept()).toBe(repo);
  await server.call("PATCH", path, { body: { repo: "ssh://git:a-password@example.org/a.git" } });
  expect((await server.call("GET", path)).body.repo).toBe("ssh://git:***@example.org/a.git");
  await server.call("PATCH", path, { body: { repo: "ssh://git@example.org/a.git" } });
  expect((await server.call("GET", path)).body.repo).toBe("ssh://git@example.org/a.git");
  const sandbox = await server.call("POST", "/sandboxes", { body: { provider: "external", repo } });
  expect([sandbox.body.repo, sandbox.text.includes("a-password")]).toEqual([shown, false]);
});
