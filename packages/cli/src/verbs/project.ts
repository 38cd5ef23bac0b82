/** drover project: repositories and the settings of the work on them. */
import { NewProject, type Project } from "@drover/contract";
import { takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { EXIT, UsageError } from "../exit-code.ts";
import { printList } from "../list-text.ts";
import { formatFields } from "../table.ts";
import { toSafeLine } from "../terminal.ts";
import type { Arguments, Context, Verb } from "../verb.ts";

const SWITCH: Readonly<Record<string, boolean>> = { on: true, off: false };

/** What the flags say of a project, for one that is made and for one that is changed. */
function toFields(args: Arguments) {
  const [repo, description, provider, autonomous] = ["repo", "description", "provider", "autonomous"].map((flag) =>
    args.get(flag),
  );
  if (autonomous !== undefined && !Object.hasOwn(SWITCH, autonomous))
    throw new UsageError("--autonomous is on or off", project.name);
  return {
    ...(repo === undefined ? {} : { repo }),
    ...(description === undefined ? {} : { description }),
    ...(autonomous === undefined ? {} : { autonomous_execution_enabled: SWITCH[autonomous] }),
    ...(provider === undefined ? {} : { settings: { provider } }),
  };
}

function parseFields(fields: object, name: string): NewProject {
  const parsed = NewProject.safeParse({ ...fields, name });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new UsageError(`${issue?.path.join(".") ?? ""}: ${issue?.message ?? "is not valid"}`, project.name);
}

function tell(context: Context, args: Arguments, one: Project): number {
  if (args.has("json")) context.print(JSON.stringify(one, null, 2));
  else {
    const facts: readonly (readonly [string, string])[] = [
      ["id", one.id],
      ["name", one.name],
      ["state", one.status],
      ["repository", one.repo ?? "-"],
      ["autonomous", one.autonomous_execution_enabled ? "on" : "off"],
      ...Object.entries(one.settings).map(([name, value]) => [name, JSON.stringify(value)] as const),
    ];
    for (const line of formatFields(facts.map(([name, text]) => [name, [toSafeLine(text)]]))) context.print(line);
  }
  return EXIT.ok;
}

async function list(context: Context, args: Arguments): Promise<number> {
  takePositionals(project, args, 0, 1);
  const page = await connect(context, args).listProjects({ query: { limit: 500 } }, { signal: context.signal });
  printList(context, args, page, {
    header: ["ID", "STATE", "NAME"],
    toRow: (one: Project) => [one.id, one.status, one.name],
    nothing: "There are no projects.",
  });
  return EXIT.ok;
}

async function show(context: Context, args: Arguments): Promise<number> {
  const [, project_id = ""] = takePositionals(project, args, 2, 2);
  return tell(
    context,
    args,
    await connect(context, args).getProject({ params: { project_id } }, { signal: context.signal }),
  );
}

async function create(context: Context, args: Arguments): Promise<number> {
  const [, name = ""] = takePositionals(project, args, 2, 2);
  const body = parseFields(toFields(args), name);
  return tell(context, args, await connect(context, args).createProject({ body }, { signal: context.signal }));
}

async function change(context: Context, args: Arguments): Promise<number> {
  const [, project_id = ""] = takePositionals(project, args, 2, 2);
  const given = args.get("name");
  const { name, ...fields } = parseFields(toFields(args), given ?? "unchanged");
  const body = { ...fields, ...(given === undefined ? {} : { name }) };
  const input = { params: { project_id }, body };
  return tell(context, args, await connect(context, args).updateProject(input, { signal: context.signal }));
}

const ACTIONS: Readonly<Record<string, (context: Context, args: Arguments) => Promise<number>>> = {
  list,
  show,
  create,
  set: change,
};

export const project: Verb = {
  name: "project",
  summary: "List, show, create and change projects.",
  usage: "[list] | show <id> | create <name> | set <id>",
  isRemote: true,
  flags: [
    { name: "repo", value: "address", doc: "Repository the work begins from." },
    { name: "description", value: "text", doc: "What it is." },
    { name: "provider", value: "name", doc: "What makes its sandboxes." },
    { name: "autonomous", value: "on|off", doc: "Whether ready tasks start by themselves." },
    { name: "name", value: "name", doc: "For set: another name." },
  ],
  async run(context, args) {
    const [action = "list"] = args.positionals;
    const chosen = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined;
    if (chosen === undefined) throw new UsageError(`usage: drover ${project.name} ${project.usage}`, project.name);
    return chosen(context, args);
  },
};
