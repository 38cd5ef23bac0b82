/** drover spec-run: the reference run, C(50,25), from project to result, with every step checked. */
import type { Client } from "@drover/client";
import { parseCount, takePositionals } from "../arguments.ts";
import { CheckFailed, hold, openChecks } from "../checks.ts";
import { connect } from "../connection.ts";
import { listEvents } from "../read-events.ts";
import type { Arguments, Context, Verb } from "../verb.ts";

const RESULT = "126410606437752";
const LIMIT_SECONDS = 600;
const LOOK_MS = 250;

const PROMPT = `Create binomial.py with a function binomial(n, k) that computes binomial coefficients, run it for n=50 and k=25, then change the file so that it also checks its arguments, and run it again. The result must be ${RESULT}.`;

const FIRST = `def binomial(n, k):
    result = 1
    for i in range(k):
        result = result * (n - i) // (i + 1)
    return result


print(binomial(50, 25))
`;
const CHECKED = FIRST.replace(
  "    result = 1\n",
  '    if not 0 <= k <= n:\n        raise ValueError("k must lie between 0 and n")\n    result = 1\n',
);
const COMPUTE = { command: { argv: ["python3", "binomial.py"] } };

const SCRIPT = {
  steps: [
    { edit: { path: "binomial.py", content: FIRST } },
    COMPUTE,
    { edit: { path: "binomial.py", content: CHECKED } },
    COMPUTE,
  ],
};

async function untilDone(context: Context, client: Client, task_id: string, signal: AbortSignal) {
  for (;;) {
    const task = await client.getTask({ params: { task_id } }, { signal });
    if (task.status === "completed") return task;
    hold(
      !["failed", "cancelled", "skipped"].includes(task.status),
      `the task is ${task.status}: ${task.error_message ?? task.status_reason ?? ""}`,
    );
    await context.wait(LOOK_MS);
    signal.throwIfAborted();
  }
}

function toWork(args: Arguments) {
  const runtime = args.get("runtime") ?? "scripted";
  const model = args.get("model");
  return {
    runtime,
    ...(model === undefined ? {} : { model }),
    ...(runtime === "scripted" ? { script: SCRIPT } : {}),
    resources: { memory_gb: 0.5 },
  };
}

export const specRun: Verb = {
  name: "spec-run",
  summary: "Run the reference task, C(50,25), and check every step of it.",
  usage: "[flags]",
  isRemote: true,
  flags: [
    { name: "provider", value: "name", doc: "What makes the sandbox (local)." },
    { name: "runtime", value: "name", doc: "Which agent works in it (scripted, which needs no key)." },
    { name: "model", value: "name", doc: "Which model the agent uses." },
    { name: "timeout", value: "seconds", doc: "How long it may take (600)." },
  ],
  details:
    "Makes a project, a ticket and a task, waits until the scheduler has started an agent and it is done, and checks events, files and result. Exit code 1: something does not hold.",
  async run(context, args) {
    takePositionals(specRun, args, 0, 0);
    const seconds = parseCount(specRun, args, "timeout") ?? LIMIT_SECONDS;
    const signal = AbortSignal.any([context.signal, AbortSignal.timeout(seconds * 1_000)]);
    const client = connect(context, args);
    const checks = openChecks(context, args);
    let sandbox_id: string | null = null;
    try {
      const project = await checks.run("a project is made", () => {
        const name = `spec-run ${context.now().toISOString()}`;
        const settings = { provider: (args.get("provider") ?? "local") as "local" };
        return client.createProject({ body: { name, autonomous_execution_enabled: true, settings } }, { signal });
      });
      const ticket = await checks.run("a ticket is made", () =>
        client.createTicket(
          { body: { title: "Compute C(50,25)", project_id: project.id, force_create: true } },
          { signal },
        ),
      );
      const task = await checks.run("a task is made", () =>
        client.createTask(
          { body: { ticket_id: ticket.id, title: "binomial.py", description: PROMPT, execution_config: toWork(args) } },
          { signal },
        ),
      );
      const done = await checks.run("the scheduler starts it and the agent completes it", () =>
        untilDone(context, client, task.id, signal),
      );
      sandbox_id = done.sandbox_id;
      const all = Number.POSITIVE_INFINITY;
      const events = await listEvents(client, done.sandbox_id ?? "", { after_seq: 0 }, all, signal);
      const edits = events.filter(({ event_type }) => event_type === "agent.file_edited");
      await checks.run("the log has no holes and tells the run from start to end", async () => {
        hold(
          events.every(({ sandbox_seq }, index) => sandbox_seq === index + 1),
          "sandbox_seq is not dense",
        );
        for (const type of ["agent.started", "agent.tool_use", "agent.tool_result", "agent.completed"])
          hold(
            events.some(({ event_type }) => event_type === type),
            `there is no ${type}`,
          );
      });
      await checks.run("binomial.py was created, then modified, with diffs", async () => {
        const changes = edits.filter(({ event_data }) => event_data["file_path"] === "binomial.py");
        const kinds = changes.map(({ event_data }) => JSON.stringify(event_data["change_type"]));
        hold(
          kinds[0] === '"created"' && kinds.includes('"modified"'),
          `binomial.py was ${kinds.join(", ") || "not touched"}`,
        );
        hold(
          changes.every(({ event_data }) => JSON.stringify(event_data["full_diff"] ?? "").includes("@@")),
          "a diff is missing",
        );
      });
      await checks.run(`the result is ${RESULT}`, async () => {
        const said = events.filter(
          ({ event_type }) => event_type === "agent.tool_result" || event_type === "agent.message",
        );
        hold(
          said.some((event) => JSON.stringify(event.event_data).includes(RESULT)),
          "no tool and no message said it; is there python3 in the sandbox?",
        );
      });
    } catch (error) {
      if (!(error instanceof CheckFailed)) throw error;
      if (error.reason !== undefined && sandbox_id === null && !signal.aborted) throw error.reason;
    }
    return checks.finish({ sandbox_id });
  },
};
