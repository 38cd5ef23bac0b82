import { expect } from "vitest";
import { startJudgeModel, toAnswer, withJudge } from "../../../testkit/src/judge.ts";
import { test } from "../../../testkit/src/server.ts";
import { runConductorOnce } from "./run-conductor.ts";

const never = new AbortController().signal;
const edit = (file_path: string) => ({ event_type: "agent.file_edited", event_data: { turn: 1, file_path } });

test("agents that change the same files for the same goal are told as duplicates, to those who may see them", async ({
  server,
}) => {
  const prompt = "Make the login form remember the user";
  const [project, other] = [await server.createProject(), await server.createProject()];
  const boxes = await Promise.all(
    [1, 2, 3].map((n) => server.createSandbox({ prompt: n === 3 ? "Write the docs" : prompt, project_id: project })),
  );
  for (const [index, box] of boxes.entries())
    await box.post({ events: index === 2 ? [edit("docs/a.md")] : [edit("src/form.ts"), edit("src/user.ts")] });
  await runConductorOnce(server.deps, never);

  const { token } = await server.createToken("viewer", project);
  const { items } = (await server.call("GET", "/monitor/conductor", { token })).body;
  // The server looks by itself too: the newest is ours.
  expect(items[0]).toMatchObject({ coherence_score: null, system_status: "inefficient", num_agents: 3 });
  expect(items[0].duplicates).toMatchObject([{ similarity: 1, files: ["src/form.ts", "src/user.ts"] }]);
  expect(items[0].recommendations[0]).toContain("keep one");
  const { token: stranger } = await server.createToken("viewer", other);
  expect((await server.call("GET", "/monitor/conductor", { token: stranger })).body.items).toEqual([]);
  expect((await server.call("GET", "/monitor/dashboard", { token })).body).toMatchObject({
    active_agents: 3,
    stale_agents: 0,
  });
  expect((await server.call("GET", "/monitor/intelligent/health", { token })).body).toMatchObject({
    active_agents: 3,
    average_alignment: null,
    system_health: "unknown",
  });
});

test("where files leave a doubt a judge is asked, and without its answer doubt is no duplicate", async ({ server }) => {
  const project_id = await server.createProject();
  const prompts = ["Make the form remember the user", "Let the form keep the user"];
  const boxes = await Promise.all(prompts.map((prompt) => server.createSandbox({ prompt, project_id })));
  for (const box of boxes) await box.post({ events: [edit("src/form.ts"), edit(`src/${box.id}.ts`)] });
  const answers: object[] = [];
  const model = await startJudgeModel((request) => {
    const [answer] = answers;
    const turn = answer === undefined ? { error: { status: 400 } } : toAnswer(request, answer);
    return { ...turn, usage: { input: 10, output: 1 } };
  });
  const deps = await withJudge(server, model, "openai");
  const newest = async () => {
    const { token } = await server.createToken("viewer", project_id);
    return (await server.call("GET", "/monitor/conductor?limit=1", { token })).body.items[0];
  };
  await runConductorOnce(deps, never);
  expect(await newest()).toMatchObject({ duplicates: [], duplicate_count: 0 });
  answers.push({ is_duplicate: true, similarity: 0.9, description: "both" });
  await runConductorOnce(deps, never);
  expect(await newest()).toMatchObject({
    duplicates: [{ similarity: 0.9, files: ["src/form.ts"] }],
    duplicate_count: 1,
  });
  const shown = model.requests.map(({ texts }) => texts.map(({ text }) => text).join("\n"));
  expect(shown.at(-1)).toMatch(/\nThe first agent:\n<<<[0-9a-f]{24}\n[^]*Files: src\//);
  // An answer is on the project's bill; a refusal of the vendor costs nothing.
  const { items } = (await server.call("GET", `/costs/records?project_id=${project_id}`)).body;
  const call = { purpose: "judge", sandbox_id: null, model: "scripted-model", total_tokens: 11, total_cost: null };
  expect(items).toMatchObject([call]);
});
