/** drover project: repositories and the settings of the work on them. */
import { NewProject, type Project, ProjectChange, type ProjectGit, ProjectGitChange } from "@drover/contract";
import type { z } from "zod";
import { takePositionals } from "../arguments.ts";
import { parseAssignments } from "../assignments.ts";
import { connect } from "../connection.ts";
import { EXIT, UsageError } from "../exit-code.ts";
import { printList } from "../list-text.ts";
import { readSecret } from "../read-secret.ts";
import { formatFields } from "../table.ts";
import { toSafeLine } from "../terminal.ts";
import type { Arguments, Context, Verb } from "../verb.ts";

const SWITCH: Readonly<Record<string, boolean>> = { on: true, off: false };

/** As JSON, and what is no JSON as it stands: 30, true, claude. */
function toValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text; // Expected: most words.
  }
}

/** What the flags say of a project, for one that is made and for one that is changed. */
function toFields(args: Arguments) {
  const [repo, description, provider, autonomous] = ["repo", "description", "provider", "autonomous"].map((flag) =>
    args.get(flag),
  );
  if (autonomous !== undefined && !Object.hasOwn(SWITCH, autonomous))
    throw new UsageError("--autonomous is on or off", project.name);
  const given = Object.entries(parseAssignments(project, args, "setting")).map(([name, text]) => [name, toValue(text)]);
  const settings = { ...(provider === undefined ? {} : { provider }), ...Object.fromEntries(given) };
  return {
    ...(repo === undefined ? {} : { repo }),
    ...(description === undefined ? {} : { description }),
    ...(autonomous === undefined ? {} : { autonomous_execution_enabled: SWITCH[autonomous] }),
    ...(Object.keys(settings).length === 0 ? {} : { settings }),
  };
}

function parseFields<Shape extends z.ZodType>(shape: Shape, fields: object): z.infer<Shape> {
  const parsed = shape.safeParse(fields);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const text = [issue?.path.join("."), issue?.message ?? "is not valid"].filter(Boolean).join(": ");
  throw new UsageError(text, project.name);
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
  const body = parseFields(NewProject, { ...toFields(args), name });
  return tell(context, args, await connect(context, args).createProject({ body }, { signal: context.signal }));
}

async function change(context: Context, args: Arguments): Promise<number> {
  const [, project_id = ""] = takePositionals(project, args, 2, 2);
  const name = args.get("name");
  const body = parseFields(ProjectChange, { ...toFields(args), ...(name === undefined ? {} : { name }) });
  if (Object.keys(body).length === 0) throw new UsageError("nothing is said to be changed", project.name);
  const input = { params: { project_id }, body };
  return tell(context, args, await connect(context, args).updateProject(input, { signal: context.signal }));
}

function tellGit(context: Context, args: Arguments, git: ProjectGit): number {
  const facts: readonly (readonly [string, string])[] = [
    ["host", git.host === "github" ? `github ${git.owner ?? ""}/${git.name ?? ""}` : "drover"],
    ["clone at", git.clone_path],
    ...(git.host === "github"
      ? ([
          ["token", git.has_token ? "set" : "missing"],
          ["webhooks", git.has_webhook_secret ? "secret set" : "no secret"],
        ] as const)
      : []),
    ["default", git.default_branch],
    ...git.branches.map(({ name, commit }) => ["branch", `${commit.slice(0, 10)} ${name}`] as const),
  ];
  if (args.has("json")) context.print(JSON.stringify(git, null, 2));
  else for (const line of formatFields(facts.map(([name, text]) => [name, [toSafeLine(text)]]))) context.print(line);
  return EXIT.ok;
}

/** Where its repository lives; with flags that is changed first. */
async function git(context: Context, args: Arguments): Promise<number> {
  const [, project_id = ""] = takePositionals(project, args, 2, 2);
  const [place, path] = [args.get("github"), args.get("github-token-file")];
  const [, owner, name] = /^([^/]+)\/([^/]+)$/.exec(place ?? "") ?? [];
  if (place !== undefined && name === undefined) throw new UsageError("--github is owner/name", project.name);
  if (args.has("builtin") && place !== undefined)
    throw new UsageError("--builtin and --github exclude each other", project.name);
  const change = {
    ...(args.has("builtin") ? { host: "builtin" } : {}),
    ...(place === undefined ? {} : { host: "github", owner, name }),
    ...(path === undefined ? {} : { token: readSecret(context, "github-token-file", path) }),
  };
  const [client, { signal }] = [connect(context, args), context];
  const params = { project_id };
  const found =
    Object.keys(change).length === 0
      ? await client.getProjectGit({ params }, { signal })
      : await client.changeProjectGit({ params, body: parseFields(ProjectGitChange, change) }, { signal });
  return tellGit(context, args, found);
}

const ACTIONS: Readonly<Record<string, (context: Context, args: Arguments) => Promise<number>>> = {
  list,
  show,
  create,
  set: change,
  git,
};

export const project: Verb = {
  name: "project",
  summary: "List, show, create and change projects, and where their code lives.",
  usage: "[list] | show <id> | create <name> | set <id> | git <id>",
  isRemote: true,
  flags: [
    { name: "repo", value: "address", doc: "Repository the work begins from." },
    { name: "description", value: "text", doc: "What it is." },
    { name: "provider", value: "name", doc: "What makes its sandboxes." },
    { name: "autonomous", value: "on|off", doc: "Whether ready tasks start by themselves." },
    { name: "name", value: "name", doc: "For set: another name." },
    {
      name: "setting",
      value: "name=value",
      many: true,
      doc: "Any other setting, as JSON or a word; null takes it away.",
    },
    { name: "builtin", doc: "For git: the repository lives at Drover's own host." },
    { name: "github", value: "owner/name", doc: "For git: the repository lives there." },
    { name: "github-token-file", value: "path", doc: "For git: file that holds the token for GitHub; it is sealed." },
  ],
  details:
    "Settings are runtime, model, provider, network, permission_mode, max_concurrent_tasks, default_branch, auto_merge, retention_days and others of docs/API.md's getProject. git without flags tells where the repository lives; the path to clone is below the server's address.",
  async run(context, args) {
    const [action = "list"] = args.positionals;
    const chosen = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined;
    if (chosen === undefined) throw new UsageError(`usage: drover ${project.name} ${project.usage}`, project.name);
    return chosen(context, args);
  },
};
