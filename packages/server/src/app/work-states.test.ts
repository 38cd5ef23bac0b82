/** Every cell of three tables through the real store: allowed ones land where the table says, all others change nothing. */
import { SANDBOX, step, stepTask, TASK, TICKET, UNBLOCKING, type SandboxTrigger, type TaskTrigger } from "@drover/core";
import { SandboxState, TaskStatus, TicketStatus, type SandboxId } from "@drover/contract";
import { describe, expect, vi } from "vitest";
import { listTriggers } from "../../../testkit/src/machine-suite.ts";
import { startTestServer, test as base, type TestServer } from "../../../testkit/src/server.ts";
import { createWork, loadTask, type Work } from "../../../testkit/src/work.ts";
import { sql } from "../store/sql.ts";
import { changeState } from "./change-state.ts";
import { changeTask } from "./change-task.ts";

vi.setConfig({ testTimeout: 120_000 });

const test = base.extend<{ $file: { idle: TestServer; work: Work } }>({
  idle: [
    async ({}, use) => {
      await using server = await startTestServer({ config: { orchestratorEnabled: false } });
      await use(server);
    },
    { scope: "file" },
  ],
  work: [async ({ idle }, use) => use(await createWork(idle)), { scope: "file" }],
});

const countEvents = async (server: TestServer, id: string): Promise<number> =>
  (await server.db.query(sql`select count(*) as count from events where entity_id = ${id}`))[0]?.["count"] as number;

const SANDBOX_TRIGGERS = listTriggers<SandboxState, SandboxTrigger>(SANDBOX);
/** Where each trigger leads: to be there already is neither a step nor an error. */
const isThere = (on: SandboxTrigger, state: SandboxState) =>
  SandboxState.options.some((from) => {
    const next = step<SandboxState, SandboxTrigger>(SANDBOX, from, on);
    return next.ok && next.to === state;
  });

describe.for(SandboxState.options)("a sandbox that is %s", (from) => {
  test("goes where its row says, and stays where it is otherwise", async ({ idle }) => {
    const { id } = await idle.createSandbox();
    for (const on of SANDBOX_TRIGGERS) {
      await idle.db.query(sql`update sandboxes set state = ${from} where id = ${id}`);
      const told = await countEvents(idle, id);
      const next = step<SandboxState, SandboxTrigger>(SANDBOX, from, on);
      const moved = changeState(idle.deps, id as SandboxId, on, "tried");
      if (next.ok || isThere(on, from)) expect((await moved).state, on).toBe(next.ok ? next.to : from);
      else await expect(moved, on).rejects.toMatchObject({ code: "sandbox.illegal_transition" });
      expect((await idle.call("GET", `/sandboxes/${id}`)).body.state, on).toBe(next.ok ? next.to : from);
      expect(await countEvents(idle, id), on).toBe(next.ok ? told + 1 : told);
    }
  });
});

const triggers = listTriggers<TaskStatus, TaskTrigger>(TASK);

describe.for(TaskStatus.options)("a task that is %s", (from) => {
  test("takes the steps of its row, tells of each, and refuses all others", async ({ idle, work }) => {
    const { id } = await work.add(`is ${from}`);
    for (const on of triggers) {
      await idle.db.query(sql`update tasks set status = ${from} where id = ${id}`);
      const told = await countEvents(idle, id);
      const next = stepTask(from, on);
      const moved = changeTask(idle.deps, id, () => ({ on }));
      if (next.ok) expect((await moved).status, on).toBe(next.to);
      else await expect(moved, on).rejects.toMatchObject({ code: "task.illegal_transition" });
      expect((await loadTask(idle, id)).status, on).toBe(next.ok ? next.to : from);
      expect(await countEvents(idle, id), on).toBe(next.ok ? told + 1 : told);
    }
  });
});

describe.for(TicketStatus.options)("a ticket that is %s", (from) => {
  test("moves where its row says, blocked or not, and nowhere else", async ({ idle, work }) => {
    const id = work.ticketId;
    const targets: readonly string[] = Object.values(TICKET[from]);
    for (const to of TicketStatus.options) {
      for (const isBlocked of [false, true]) {
        await idle.db.query(sql`update tickets set status = ${from}, is_blocked = ${isBlocked} where id = ${id}`);
        const isAllowed = from !== "done" && (targets.includes(to) || (isBlocked && UNBLOCKING.has(to)));
        const { status, body } = await idle.call("POST", `/tickets/${id}/transition`, { body: { to_status: to } });
        expect([status, body.status], `${to}, blocked ${isBlocked}`).toEqual(isAllowed ? [200, to] : [409, 409]);
        if (isAllowed) expect(body.is_blocked).toBe(false);
        const kept = await idle.call("GET", `/tickets/${id}`);
        expect(kept.body.status).toBe(isAllowed ? to : from);
      }
    }
  });
});
