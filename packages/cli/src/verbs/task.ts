/** drover task: pieces of a ticket's work, and every try at them. */
import { TaskStatus, type Task } from "@drover/contract";
import { parseCount, takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { toElapsed } from "../elapsed.ts";
import { EXIT, UsageError } from "../exit-code.ts";
import { printList } from "../list-text.ts";
import { formatTexts } from "../table.ts";
import type { Arguments, Context, Verb } from "../verb.ts";

function showTask(context: Context, args: Arguments, one: Task): number {
  const fields = formatTexts(
    [
      ["task", one.id],
      ["ticket", one.ticket_id],
      ["title", one.title],
      ["state", one.is_ready ? "ready" : one.status],
      ["why", one.status_reason],
      ["priority", one.priority],
      ["after", one.dependencies.depends_on.join("\n") || "nothing"],
      ["files", one.owned_files.join("\n") || null],
      ["retries", `${one.retry_count} of ${one.max_retries}`],
      ["sandbox", one.sandbox_id],
      ["error", one.error_message],
      ["wanted", one.description],
    ],
    context.width,
  );
  if (args.has("json")) context.print(JSON.stringify(one, null, 2));
  else for (const line of fields) context.print(line);
  return EXIT.ok;
}

async function create(context: Context, args: Arguments): Promise<number> {
  const [, ticket_id = "", title = ""] = takePositionals(task, args, 3, 3);
  const [description, priority] = [args.get("description"), args.get("priority")];
  const body = {
    ticket_id,
    title,
    ...(description === undefined ? {} : { description }),
    ...(priority === undefined ? {} : { priority }),
    owned_files: [...args.all("file")],
    dependencies: { depends_on: [...args.all("after")] },
    ...(args.has("force") ? { execution_config: { force_execute: true } } : {}),
  };
  const client = connect(context, args);
  const made = await client.createTask({ body }, { signal: context.signal });
  const code = showTask(context, args, made);
  if (args.has("force")) return code;
  const { project_id } = made;
  const project = await client.getProject({ params: { project_id } }, { signal: context.signal });
  if (!project.autonomous_execution_enabled)
    context.warn(
      `It will not start: its project starts no tasks by itself. See: drover project set ${project_id} --autonomous on; or create it with --force`,
    );
  return code;
}

async function list(context: Context, args: Arguments): Promise<number> {
  takePositionals(task, args, 1, 1);
  const [project_id, ticket_id, q] = [args.get("project"), args.get("ticket"), args.get("search")];
  if (args.has("ready") && (ticket_id ?? q) !== undefined)
    throw new UsageError("--ready goes with --project only", task.name);
  const [client, { signal }] = [connect(context, args), context];
  const page = args.has("ready")
    ? await client.listReady({ query: { limit: 100, project_id } }, { signal })
    : await client.listTasks({ query: { limit: 100, project_id, ticket_id, q } }, { signal });
  const now = context.now();
  printList(context, args, page, {
    header: ["ID", "STATE", "PRIORITY", "AGE", "TITLE"],
    toRow: (one) => [
      one.id,
      one.is_ready ? "ready" : one.status,
      one.priority,
      toElapsed(one.created_at, now),
      one.title,
    ],
    nothing: "There are no such tasks.",
  });
  return EXIT.ok;
}

async function show(context: Context, args: Arguments): Promise<number> {
  const [, task_id = ""] = takePositionals(task, args, 2, 2);
  return showTask(
    context,
    args,
    await connect(context, args).getTask({ params: { task_id } }, { signal: context.signal }),
  );
}

async function attempts(context: Context, args: Arguments): Promise<number> {
  const [, task_id = ""] = takePositionals(task, args, 2, 2);
  const page = await connect(context, args).listAttempts({ params: { task_id } }, { signal: context.signal });
  printList(context, args, page, {
    header: ["NO", "KIND", "OUTCOME", "SANDBOX", "ERROR"],
    toRow: (one) => [String(one.number), one.kind, one.outcome ?? "under way", one.sandbox_id, one.error_message ?? ""],
    nothing: "Nobody has tried it yet.",
  });
  return EXIT.ok;
}

/** The three ways in which a person ends a task: not wanted any more, gone wrong, or too slow. */
const toEnd =
  (call: "cancelTask" | "failTask" | "timeOutTask") =>
  async (context: Context, args: Arguments): Promise<number> => {
    const [, task_id = ""] = takePositionals(task, args, 2, 2);
    const reason = args.get("reason");
    const asked = { params: { task_id }, body: reason === undefined ? {} : { reason } };
    const done = await connect(context, args)[call](asked, { signal: context.signal });
    context.print(args.has("json") ? JSON.stringify(done, null, 2) : `${task_id} ${done.status}`);
    return EXIT.ok;
  };

async function move(context: Context, args: Arguments): Promise<number> {
  const [, task_id = "", wanted = ""] = takePositionals(task, args, 3, 3);
  const status = TaskStatus.safeParse(wanted).data;
  if (status === undefined) throw new UsageError(`a task can be ${TaskStatus.options.join(", ")}`, task.name);
  const call = { params: { task_id }, body: { status } };
  return showTask(context, args, await connect(context, args).changeTaskStatus(call, { signal: context.signal }));
}

async function retry(context: Context, args: Arguments): Promise<number> {
  const [, task_id = ""] = takePositionals(task, args, 2, 2);
  return showTask(
    context,
    args,
    await connect(context, args).retryTask({ params: { task_id } }, { signal: context.signal }),
  );
}

async function change(context: Context, args: Arguments): Promise<number> {
  const [, task_id = ""] = takePositionals(task, args, 2, 2);
  const [title, description, priority] = [args.get("title"), args.get("description"), args.get("priority")];
  const timeout_seconds = parseCount(task, args, "timeout");
  const body = {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(priority === undefined ? {} : { priority }),
    ...(args.all("file").length === 0 ? {} : { owned_files: [...args.all("file")] }),
  };
  const isChanged = Object.keys(body).length > 0;
  if (!isChanged && timeout_seconds === undefined)
    throw new UsageError("--title, --description, --priority, --file or --timeout say what is changed", task.name);
  const [client, { signal }] = [connect(context, args), context];
  const params = { task_id };
  const timed =
    timeout_seconds === undefined
      ? undefined
      : await client.setTaskTimeout({ params, body: { timeout_seconds } }, { signal });
  const changed = isChanged ? await client.updateTask({ params, body }, { signal }) : timed;
  return changed === undefined ? EXIT.failed : showTask(context, args, changed);
}

/** `after`: waits for another task from now on. `free`: does not wait for it any more. */
const toTie =
  (isAdded: boolean) =>
  async (context: Context, args: Arguments): Promise<number> => {
    const [, task_id = "", other = ""] = takePositionals(task, args, 3, 3);
    const [client, { signal }] = [connect(context, args), context];
    if (isAdded) await client.addDependencies({ params: { task_id }, body: { depends_on: [other] } }, { signal });
    else await client.removeDependency({ params: { task_id, dependency_id: other } }, { signal });
    return showTask(context, args, await client.getTask({ params: { task_id } }, { signal }));
  };

const ACTIONS: Readonly<Record<string, (context: Context, args: Arguments) => Promise<number>>> = {
  create,
  list,
  show,
  attempts,
  set: change,
  after: toTie(true),
  free: toTie(false),
  move,
  cancel: toEnd("cancelTask"),
  fail: toEnd("failTask"),
  timeout: toEnd("timeOutTask"),
  retry,
};

export const task: Verb = {
  name: "task",
  summary: "Create, list, change, order, end and retry tasks.",
  usage:
    "create <ticket> <title> | list | show <id> | attempts <id> | set <id> | after <id> <task> | free <id> <task> | move <id> <state> | cancel <id> | fail <id> | timeout <id> | retry <id>",
  isRemote: true,
  flags: [
    { name: "project", value: "id", doc: "For list: only those of this project." },
    { name: "ticket", value: "id", doc: "For list: only those of this ticket." },
    { name: "search", short: "q", value: "text", doc: "For list: only those that match the text." },
    { name: "ready", doc: "For list: only those that would be started next, best first." },
    { name: "title", value: "text", doc: "For set: another title." },
    { name: "description", value: "text", doc: "For create and set: what to do." },
    { name: "priority", value: "priority", doc: "For create and set: CRITICAL, HIGH, MEDIUM or LOW (MEDIUM)." },
    { name: "timeout", value: "seconds", doc: "For set: how long a try may take." },
    { name: "after", value: "task", many: true, doc: "For create: waits for this task; may be repeated." },
    { name: "file", value: "pattern", many: true, doc: "For create and set: a path that is its own; may be repeated." },
    { name: "reason", value: "text", doc: "For cancel, fail and timeout: why; it is kept with the task." },
    { name: "force", doc: "For create: start although the project does not start tasks by itself." },
  ],
  async run(context, args) {
    const [action = ""] = args.positionals;
    const chosen = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined;
    if (chosen === undefined) throw new UsageError(`usage: drover ${task.name} ${task.usage}`, task.name);
    return chosen(context, args);
  },
};
