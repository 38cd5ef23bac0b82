/** A sandbox that a person makes for a task works on it: as a try of its own, in the task's project, and for nobody else. */
import { expect } from "vitest";
import { test } from "../../../testkit/src/server.ts";
import { after, createWork, listAttempts, loadTask } from "../../../testkit/src/work.ts";

/** Nothing is started by itself here: a person does it. */
const BY_HAND = { autonomous_execution_enabled: false };

test("a worker that a person gave a task completes it, once, and unblocks the next", async ({ server }) => {
  const work = await createWork(server);
  await server.call("PATCH", `/projects/${work.projectId}`, { body: BY_HAND });
  const task = await work.add("one");
  const next = await work.add("two", after(task));
  const sandbox = await server.createSandbox({ task_id: task.id });
  expect(sandbox.created).toMatchObject({ project_id: work.projectId, task_id: task.id });
  const report = (body: object) =>
    server.call("POST", `/sandboxes/${sandbox.id}/task-complete`, { token: sandbox.token, body });
  expect((await report({ task_id: next.id })).status).toBe(409);
  const answer = { status: "accepted", task_id: task.id, new_status: "completed", unblocked_tasks: [next.id] };
  expect((await report({ task_id: task.id, result: { answer: 42 } })).body).toEqual(answer);
  expect((await report({ task_id: task.id })).body).toMatchObject({ new_status: "completed", unblocked_tasks: [] });
  expect(await loadTask(server, task.id)).toMatchObject({ sandbox_id: sandbox.id, result: { answer: 42 } });
  expect(await listAttempts(server, task.id)).toMatchObject([{ sandbox_id: sandbox.id, outcome: "completed" }]);
});

test("a task that another sandbox has completed is not completed again", async ({ server }) => {
  const work = await createWork(server);
  await server.call("PATCH", `/projects/${work.projectId}`, { body: BY_HAND });
  const task = await work.add("one");
  const [first, second] = [
    await server.createSandbox({ task_id: task.id }),
    await server.createSandbox({ task_id: task.id }),
  ];
  const report = ({ id, token }: typeof first) =>
    server.call("POST", `/sandboxes/${id}/task-complete`, { token, body: { task_id: task.id } });
  expect((await report(first)).body).toMatchObject({ new_status: "completed" });
  const late = await report(second);
  expect([late.status, late.body.type]).toEqual([409, "urn:drover:error:task.not_yours"]);
});

test("no sandbox is made for a task of another project, whose words stay there", async ({ server }) => {
  const work = await createWork(server);
  const task = await work.add("a secret plan");
  const mine = await server.createProject();
  const { token } = await server.createToken("operator", mine);
  for (const body of [{ task_id: task.id }, { task_id: task.id, project_id: mine }]) {
    const answer = await server.call("POST", "/sandboxes", { token, body: { provider: "external", ...body } });
    expect([answer.status, answer.body.errors?.[0].path]).toEqual([422, "task_id"]);
  }
});
