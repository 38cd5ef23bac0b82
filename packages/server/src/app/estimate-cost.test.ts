/** What a run is likely to cost is told from runs that are over: the most alike, enough of them, and nothing where there are none. */
import type { ProjectId } from "@drover/contract";
import { expect } from "vitest";
import { test, type TestServer } from "../../../testkit/src/server.ts";
import { sql } from "../store/sql.ts";

interface Past {
  readonly project: ProjectId;
  readonly model: string;
  readonly usd: number;
  readonly unpriced?: number;
}

/** A run that is over, as its log and the gateway leave it. */
async function finish(server: TestServer, { project, model, usd, unpriced = 0 }: Past) {
  const { id } = await server.createSandbox({ project_id: project, runtime: "claude", model });
  await server.db.query(sql`
    update sandboxes set state = 'completed', turn = 3, cost_usd = ${usd}::float8, priced_calls = 2, unpriced_calls = ${unpriced},
      input_tokens = 1000, output_tokens = 500, started_at = now() - interval '60 seconds', ended_at = now() where id = ${id}`);
}

const estimate = async (server: TestServer, query: string) =>
  (await server.call("GET", `/costs/estimate?runtime=claude${query}`)).body;

test("the most alike runs speak, wider ones where those are too few, and none where nobody ran", async ({ server }) => {
  const [mine, other] = [await server.createProject("mine"), await server.createProject("other")];
  expect(await estimate(server, `&project_id=${mine}`)).toMatchObject({
    runs: 0,
    enough: 3,
    cost_usd: null,
    tokens: null,
    seconds: null,
    price: null,
  });
  for (const usd of [1, 2, 3]) await finish(server, { project: other, model: "claude-haiku-4-5", usd });
  await finish(server, { project: mine, model: "claude-opus-4-8", usd: 10 });
  await finish(server, { project: mine, model: "claude-opus-4-8", usd: 30, unpriced: 1 });

  // Two of its own with this model are no more than an anecdote: all runs of the agent are asked instead.
  const wide = await estimate(server, `&project_id=${mine}&model=claude-opus-4-8`);
  expect(wide).toMatchObject({
    runs: 5,
    unpriced_runs: 1,
    alike: { project: false, runtime: true, model: false },
    cost_usd: { half: 2.5 },
    tokens: { half: 1_500, most: 1_500 },
    price: { model: "claude-opus-4-8*", input: 5, output: 25 },
  });
  expect(wide.seconds.half).toBeCloseTo(60, 0);
  await finish(server, { project: mine, model: "claude-opus-4-8", usd: 20 });
  expect(await estimate(server, `&project_id=${mine}&model=claude-opus-4-8`)).toMatchObject({
    runs: 3,
    alike: { project: true, runtime: true, model: true },
    cost_usd: { half: 15, most: 19 },
  });
  expect(await estimate(server, `&project_id=${mine}&model=claude-haiku-4-5`)).toMatchObject({
    runs: 3,
    alike: { project: false, model: true },
    cost_usd: { half: 2 },
  });
});

test("who may see one project only is told of that one only", async ({ server }) => {
  const [seen, hidden] = [await server.createProject("seen"), await server.createProject("hidden")];
  for (const usd of [1, 2, 3]) await finish(server, { project: hidden, model: "m", usd });
  const { token } = await server.createToken("viewer", seen);
  const ask = (project: string) =>
    server.call("GET", `/costs/estimate?runtime=claude&project_id=${project}`, { token });
  expect((await ask(seen)).body).toMatchObject({ runs: 0, cost_usd: null });
  expect((await ask(hidden)).status).toBe(404);
});
