/** A ticket that names a repository of GitHub finds that repository's project. Broken on purpose, each seen to fail here: a named project is not
 *  compared, a bound credential looks at every project, an operator may make one, a place is compared with its case, a taken name
 *  is not looked at again. */
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { startTestServer, type TestServer } from "../../../testkit/src/server.ts";
import { sql } from "../store/sql.ts";

vi.setConfig({ testTimeout: 60_000 });

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

const create = (body: Readonly<Record<string, unknown>>, more: { token?: string; key?: string } = {}) =>
  server.call("POST", "/tickets", {
    body: { title: `ticket ${crypto.randomUUID()}`, ...body },
    ...(more.token === undefined ? {} : { token: more.token }),
    ...(more.key === undefined ? {} : { headers: { "idempotency-key": more.key } }),
  });
const connect = async (owner: string, name: string) => {
  const id = await server.createProject();
  // Asking GitHub for its branches comes after what is stored, and nobody answers here.
  await server.call("PATCH", `/projects/${id}/git`, { body: { host: "builtin", owner, name } });
  await server.db.query(sql`update project_git set host = 'github' where project_id = ${id}`);
  return id;
};
const countProjects = async () => (await server.call("GET", "/projects?limit=200")).body.items.length as number;

test("the project of a repository is found, whatever its case; one that is named must be it", async () => {
  const project = await connect("Acme", "sheep");
  const place = { github_owner: "acme", github_repo: "Sheep" };
  expect((await create(place)).body).toMatchObject({ project_id: project });
  expect((await create({ ...place, project_id: project })).status).toBe(201);
  const other = await server.createProject();
  const refused = await create({ ...place, project_id: other });
  expect(refused.body).toMatchObject({ status: 422, errors: [{ path: "github_repo" }] });
  const missing = { ...place, project_id: "project-00000000-0000-4000-8000-000000000009" };
  expect((await create(missing)).status).toBe(404);
});

test("a project that was taken from GitHub is the repository's too; several must be told apart", async () => {
  const take = async (repo: string) =>
    (await server.call("POST", "/projects", { body: { name: crypto.randomUUID(), repo } })).body.id as string;
  const first = await take("https://github.com/acme/Goats.git");
  const place = { github_owner: "acme", github_repo: "goats" };
  expect((await create(place)).body).toMatchObject({ project_id: first });
  const second = await take("git@github.com:acme/goats");
  const refused = await create(place);
  expect(refused.body).toMatchObject({ status: 422, errors: [{ path: "project_id" }] });
  expect(refused.text).toContain(first);
  expect((await create({ ...place, project_id: second })).body).toMatchObject({ project_id: second });
});

test("an admin of all projects gets a project made, once, however many ask at once", async () => {
  const before = await countProjects();
  const place = { github_owner: "acme", github_repo: "cows" };
  const made = await Promise.all(Array.from({ length: 6 }, () => create(place)));
  expect(made.map(({ status }) => status)).toEqual(Array.from({ length: 6 }, () => 201));
  const [project] = [...new Set(made.map(({ body }) => body.project_id as string))];
  expect(new Set(made.map(({ body }) => body.project_id)).size).toBe(1);
  expect(await countProjects()).toBe(before + 1);
  expect((await server.call("GET", `/projects/${project}`)).body).toMatchObject({ name: "acme/cows" });
  const { events } = (await server.call("GET", "/events?event_type=project.created&limit=500")).body;
  expect(JSON.stringify(events).split("acme/cows")).toHaveLength(2);
  const again = await create({ ...place, title: "the same" }, { key: "k1" });
  expect((await create({ ...place, title: "the same" }, { key: "k1" })).body.id).toBe(again.body.id);
});

test("nobody else makes one, sees another's, or leaves a trace with a refused ticket", async () => {
  const before = await countProjects();
  const operator = await server.createToken("operator");
  const place = { github_owner: "acme", github_repo: "ducks" };
  expect((await create(place, { token: operator.token })).status).toBe(403);
  await connect("acme", "hens");
  const mine = await server.createProject();
  const bound = await server.createToken("admin", mine);
  for (const github_repo of ["hens", "ducks"]) {
    const refused = await create({ ...place, github_repo }, { token: bound.token });
    expect([refused.status, refused.body.detail]).toEqual([422, expect.stringContaining(mine)]);
  }
  for (const half of [{ github_owner: "acme" }, { github_repo: "ducks" }])
    expect((await create(half)).status).toBe(422);
  for (const odd of ["a/b", "", "a b", "-".repeat(101), 7])
    expect((await create({ github_owner: "acme", github_repo: odd })).status).toBe(422);
  const absent = crypto.randomUUID();
  const refused = await create({ ...place, dependencies: { blocked_by: [absent] } });
  expect(refused.status).toBe(404);
  expect(await countProjects()).toBe(before + 2);
});
