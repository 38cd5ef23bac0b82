/** Supervision of real agents in real sandboxes: the drifting, the looping, the slow, the dead, and a judge that is away. */
import type { SandboxId, StoredEvent } from "@drover/contract";
import { expect, test } from "vitest";
import { openJudge } from "../../../server/src/adapters/judge-model.ts";
import type { Deps } from "../../../server/src/app/deps.ts";
import { runGuardianOnce } from "../../../server/src/app/run-guardian.ts";
import { superviseRunsOnce } from "../../../server/src/app/supervise-runs.ts";
import { sql } from "../../../server/src/store/sql.ts";
import { startLocal, untilSandbox } from "../local-sandbox.ts";
import { startScriptedModel } from "../model/scripted-model.ts";
import { startTestServer, type TestServer, type TestServerOptions } from "../server.ts";
import { silentLog } from "../silent-log.ts";
import { becomes, createWork, listAttempts } from "../work.ts";

const MINUTE_MS = 60_000;
const FACT_MS = 60_000;
const never = new AbortController().signal;

/** Heartbeats every second, so that nobody waits for one; the guardian may do everything it can. */
const startSupervised = (config: TestServerOptions["config"] = {}) =>
  startTestServer({ config: { guardianMode: "full", heartbeatIntervalSeconds: 1, ...config } });

/** The same server as somebody sees it who looks so many minutes later. */
const later = (server: TestServer, minutes: number, more: Partial<Deps> = {}): Deps => ({
  ...server.deps,
  startedMs: 0,
  passes: new Map(),
  clock: { ...server.deps.clock, now: () => new Date(Date.now() + minutes * MINUTE_MS) },
  ...more,
});

const eventsOf = async (server: TestServer, id: SandboxId, type: string): Promise<readonly StoredEvent[]> =>
  (await server.call("GET", `/sandboxes/${id}/events?limit=500&order=asc&event_type=${type}`)).body.events;
const interventionsOf = async (server: TestServer, id: SandboxId) =>
  (await server.call("GET", `/guardian/interventions?sandbox_id=${id}`)).body.items;
const POLL = { timeout: FACT_MS, interval: 100 };

const read = (file: string) => ({
  tool_use: { name: "Read", input: { file_path: file }, result: `what ${file} says` },
});

test("an agent that drifts is nudged in the turn that runs, follows, and the record says that it helped", async () => {
  await using server = await startSupervised();
  const id = await startLocal(server, {
    prompt: "Fix the form. Do not touch package.json.",
    script: {
      steps: [{ edit: { path: "package.json", content: "{}\n" } }, { wait: 600 }, { text: "done" }],
      on_message: [
        {
          when: "asked not to do",
          steps: [...["a", "b", "c", "d", "e"].map(read), { edit: { path: "form.txt", content: "fixed\n" } }],
        },
      ],
    },
  });
  await expect.poll(async () => (await eventsOf(server, id, "agent.file_edited")).length, POLL).toBe(1);
  await runGuardianOnce(later(server, 0), never);
  const [edit] = await eventsOf(server, id, "agent.file_edited");
  expect(await interventionsOf(server, id)).toMatchObject([
    { signal: "constraint_broken", rung: "nudge", seqs: [edit?.seq], message_id: expect.any(String) },
  ]);

  // Its agent is in the middle of a turn: it reads the nudge there, and goes on with the form.
  await expect.poll(async () => (await eventsOf(server, id, "agent.file_edited")).length, POLL).toBe(2);
  const [injected] = await eventsOf(server, id, "agent.message_injected");
  expect(injected?.event_data).toMatchObject({ message_type: "guardian_nudge", turn: edit?.event_data["turn"] });
  expect(await eventsOf(server, id, "agent.turn_complete")).toEqual([]);
  await expect
    .poll(async () => {
      await runGuardianOnce(later(server, 1), never);
      return interventionsOf(server, id);
    }, POLL)
    .toMatchObject([{ outcome: "helped", injected_seq: injected?.seq, settled_at: expect.any(String) }]);
  expect((await server.call("GET", `/sandboxes/${id}`)).body.state).toBe("running");
});

test("an agent that goes round in circles is paused, and a person is asked", async () => {
  await using server = await startSupervised();
  const again = { tool_use: { name: "Bash", input: { command: "make" }, result: "error: no rule", is_error: true } };
  const id = await startLocal(server, {
    script: { steps: [{ repeat: { times: 12, steps: [again] } }, { wait: 600 }] },
  });
  await expect.poll(async () => (await eventsOf(server, id, "agent.tool_result")).length, POLL).toBe(12);
  await runGuardianOnce(later(server, 0), never);
  await untilSandbox(server, id, { state: "paused", state_cause: "guardian: repeated_tool" });
  const [told] = await eventsOf(server, id, "guardian.steering.intervention");
  expect(told?.event_data).toMatchObject({ rung: "pause", needs_person: true, signal: "repeated_tool" });
  const calls = (await eventsOf(server, id, "agent.tool_use")).map(({ seq }) => seq);
  expect(calls).toEqual(expect.arrayContaining(told?.event_data["evidence"] as number[]));
  // It stands still until the person has answered.
  expect((await server.call("POST", `/sandboxes/${id}/resume`)).body).toMatchObject({ state: "running" });
});

test("a build of forty minutes whose worker beats is left alone", async () => {
  await using server = await startSupervised();
  const id = await startLocal(server, {
    script: { steps: [{ tool_use: { name: "Bash", input: { command: "make world" }, seconds: 3_600 } }] },
  });
  await expect.poll(async () => (await eventsOf(server, id, "agent.tool_use")).length, POLL).toBe(1);
  // All that was is forty minutes older; what was remembered of it is read again.
  await server.db.tx(async (tx) => {
    const forty = sql`interval '40 minutes'`;
    await tx.query(sql`update events set created_at = created_at - ${forty} where sandbox_id = ${id}`);
    await tx.query(
      sql`update sandboxes set started_at = started_at - ${forty}, created_at = created_at - ${forty} where id = ${id}`,
    );
    await tx.query(sql`delete from supervision where sandbox_id = ${id}`);
  });
  const agedSeq = (await eventsOf(server, id, "agent.heartbeat")).at(-1)?.seq ?? 0;
  await expect
    .poll(async () => (await eventsOf(server, id, "agent.heartbeat")).at(-1)?.seq, POLL)
    .toBeGreaterThan(agedSeq);
  expect((await eventsOf(server, id, "agent.heartbeat")).at(-1)?.event_data).toMatchObject({ tool: "Bash" });

  expect(await superviseRunsOnce(later(server, 0))).toMatchObject({ nudged: 0, ended: 0 });
  await runGuardianOnce(later(server, 0), never);
  expect((await server.call("GET", `/sandboxes/${id}/supervision`)).body).toMatchObject({ condition: "busy" });
  expect(await interventionsOf(server, id)).toEqual([]);
  expect((await server.call("GET", `/sandboxes/${id}/messages/history`)).body.items).toEqual([]);
  expect((await server.call("GET", `/sandboxes/${id}`)).body.state).toBe("running");
});

/** Stops the worker as a hung machine would: it is there, and says nothing any more. */
const HANG = "for p in /proc/[0-9]*; do grep -q 'worker[.]mjs' $p/cmdline && kill -STOP ${p#/proc/}; done; true";

test("a dead one is replaced, and its task goes on where it stood", async () => {
  await using server = await startSupervised();
  const work = await createWork(server, { provider: "local", runtime: "scripted" });
  const task = await work.add("count", {
    execution_config: {
      script: {
        steps: [
          { edit: { path: "one.txt", content: "one\n" } },
          { wait_for_message: { seconds: 600 } },
          { edit: { path: "two.txt", content: "two\n" } },
          { text: "counted" },
        ],
      },
    },
  });
  await expect.poll(async () => (await listAttempts(server, task.id)).length, POLL).toBe(1);
  const [first] = await listAttempts(server, task.id);
  const lost = first?.sandbox_id as SandboxId;
  await expect.poll(async () => (await eventsOf(server, lost, "agent.waiting")).length, POLL).toBe(1);
  await expect.poll(async () => (await eventsOf(server, lost, "workspace.checkpoint")).length, POLL).toBeGreaterThan(0);
  const hung = await server.call("POST", `/sandboxes/${lost}/exec`, { body: { argv: ["sh", "-c", HANG] } });
  expect(hung.body).toMatchObject({ exit_code: 0 });
  await expect.poll(() => superviseRunsOnce(later(server, 3)), POLL).toMatchObject({ ended: 1 });
  const [ended] = await eventsOf(server, lost, "TERMINATED_IDLE");
  expect(ended?.event_data).toMatchObject({ reason: "heartbeat_timeout", task_id: task.id, transcript_saved: true });

  await expect.poll(async () => (await listAttempts(server, task.id)).length, POLL).toBe(2);
  const [before, second] = await listAttempts(server, task.id);
  expect(before).toMatchObject({ sandbox_id: lost, outcome: "lost" });
  expect(second).toMatchObject({ resumes: lost });
  const next = second?.sandbox_id as SandboxId;
  await expect.poll(async () => (await eventsOf(server, next, "agent.waiting")).length, POLL).toBe(1);
  await server.call("POST", `/sandboxes/${next}/messages`, { body: { content: "go on" } });
  await becomes(server, task, "completed");
  expect((await eventsOf(server, next, "agent.resumed"))[0]?.event_data).toMatchObject({ how: "native", from: lost });
  // What was done was not done again.
  const files = (await eventsOf(server, next, "agent.file_edited")).map(({ event_data }) => event_data["file_path"]);
  expect(files).toEqual(["two.txt"]);
});

test("a judge that is away for an hour changes nothing", async () => {
  await using model = await startScriptedModel({ script: () => ({ error: { status: 400 } }), isTurn: () => true });
  await using server = await startSupervised({ anthropicBaseUrl: model.url });
  const judge = openJudge({ model: "anthropic:scripted-model", log: silentLog });
  const id = await startLocal(server, { prompt: "Read on.", script: { steps: [read("a"), { wait: 600 }] } });
  await expect.poll(async () => (await eventsOf(server, id, "agent.tool_result")).length, POLL).toBe(1);
  const before = (await server.call("GET", `/sandboxes/${id}`)).body.state;
  for (let minutes = 0; minutes <= 60; minutes += 10) {
    // Something new each time, so that there is something to judge.
    await server.call("POST", `/sandboxes/${id}/messages`, { body: { content: `the ${minutes}th minute` } });
    await runGuardianOnce(later(server, minutes, { judge }), never);
  }
  expect(model.requests.length).toBeGreaterThan(5);
  expect((await server.call("GET", `/sandboxes/${id}`)).body.state).toBe(before);
  expect((await server.call("GET", `/guardian/analyses?sandbox_id=${id}`)).body.items).toEqual([]);
  expect(await interventionsOf(server, id)).toEqual([]);
  expect((await server.call("GET", "/monitor/intelligent/health")).body).toMatchObject({
    system_health: "unknown",
    average_alignment: null,
  });
});
