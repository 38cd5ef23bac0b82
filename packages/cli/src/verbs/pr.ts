/** drover pr: pull requests of projects, at whichever Git host. */
import { MergeMethod, PullRequestState, type PullRequestDetail } from "@drover/contract";
import { takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { toElapsed } from "../elapsed.ts";
import { EXIT, UsageError } from "../exit-code.ts";
import { printList } from "../list-text.ts";
import { printContent } from "../print-content.ts";
import { formatFields } from "../table.ts";
import { toSafeLine } from "../terminal.ts";
import type { Arguments, Context, Verb } from "../verb.ts";

function formatPull(pull: PullRequestDetail): readonly string[] {
  const merges = pull.mergeable === null ? "not known" : pull.mergeable ? "yes" : "no, it conflicts";
  const facts: readonly (readonly [string, string])[] = [
    ["branches", `${pull.head_branch} into ${pull.base_branch}`],
    ...(pull.url === null ? [] : [["page", pull.url] as const]),
    ...(pull.state === "open" ? [["merges", merges] as const] : []),
    ...pull.conflicts.map(({ path, kind }) => ["conflict", `${path} (${kind})`] as const),
    ...pull.checks.map(({ context, state, description }) => ["check", `${state}: ${context} ${description}`] as const),
    ...pull.commits.map(({ id, subject }) => ["commit", `${id.slice(0, 10)} ${subject}`] as const),
    ...pull.files.map((file) => ["file", `${file.path} +${file.lines_added} -${file.lines_removed}`] as const),
  ];
  return [
    toSafeLine(`${pull.title} (${pull.state})`),
    ...formatFields(facts.map(([name, text]) => [name, [toSafeLine(text)]])),
  ];
}

async function list(context: Context, args: Arguments): Promise<number> {
  takePositionals(pr, args, 1, 1);
  const state = args.get("state");
  const parsed = PullRequestState.optional().safeParse(state);
  if (!parsed.success) throw new UsageError(`--state is one of ${PullRequestState.options.join(", ")}`, pr.name);
  const query = {
    limit: 100,
    ...(parsed.data === undefined ? {} : { state: parsed.data }),
    ...(args.get("project") === undefined ? {} : { project_id: args.get("project") }),
    ...(args.get("ticket") === undefined ? {} : { ticket_id: args.get("ticket") }),
  };
  const page = await connect(context, args).listPulls({ query }, { signal: context.signal });
  const now = context.now();
  printList(context, args, page, {
    header: ["ID", "STATE", "NUMBER", "OPENED", "TITLE"],
    toRow: (one) => [one.id, one.state, String(one.number), `${toElapsed(one.created_at, now)} ago`, one.title],
    nothing: "There are no such pull requests.",
  });
  return EXIT.ok;
}

async function show(context: Context, args: Arguments): Promise<number> {
  const [, pull_id = ""] = takePositionals(pr, args, 2, 2);
  const pull = await connect(context, args).getPull({ params: { pull_id } }, { signal: context.signal });
  if (args.has("json")) context.print(JSON.stringify(pull, null, 2));
  // Through a pipe the diff is exact, so that it can be applied.
  else if (args.has("diff")) await printContent(context, pull.diff);
  else for (const line of formatPull(pull)) context.print(line);
  return EXIT.ok;
}

async function create(context: Context, args: Arguments): Promise<number> {
  const [, project_id = "", head_branch = "", title = ""] = takePositionals(pr, args, 4, 4);
  const [base_branch, ticket_id, text] = [args.get("into"), args.get("ticket"), args.get("text")];
  const body = {
    project_id,
    head_branch,
    title,
    ...(text === undefined ? {} : { body: text === "-" ? (await context.readInput()).trimEnd() : text }),
    ...(base_branch === undefined ? {} : { base_branch }),
    ...(ticket_id === undefined ? {} : { ticket_id }),
  };
  const opened = await connect(context, args).createPull({ body }, { signal: context.signal });
  const line = `${opened.id} ${opened.state}: ${opened.head_branch} into ${opened.base_branch}`;
  context.print(args.has("json") ? JSON.stringify(opened, null, 2) : toSafeLine(line));
  return EXIT.ok;
}

async function merge(context: Context, args: Arguments): Promise<number> {
  const [, pull_id = ""] = takePositionals(pr, args, 2, 2);
  const method = MergeMethod.safeParse(args.get("method") ?? "squash").data;
  if (method === undefined) throw new UsageError(`--method is one of ${MergeMethod.options.join(", ")}`, pr.name);
  const body = { method, delete_branch: !args.has("keep-branch") };
  const merged = await connect(context, args).mergePull({ params: { pull_id }, body }, { signal: context.signal });
  const line = `${merged.id} merged into ${merged.base_branch} as ${merged.merge_commit ?? ""}`;
  context.print(args.has("json") ? JSON.stringify(merged, null, 2) : line);
  return EXIT.ok;
}

async function close(context: Context, args: Arguments): Promise<number> {
  const [, pull_id = ""] = takePositionals(pr, args, 2, 2);
  const closed = await connect(context, args).closePull({ params: { pull_id } }, { signal: context.signal });
  context.print(args.has("json") ? JSON.stringify(closed, null, 2) : `${closed.id} closed; its branch is kept`);
  return EXIT.ok;
}

const ACTIONS: Readonly<Record<string, (context: Context, args: Arguments) => Promise<number>>> = {
  list,
  show,
  create,
  merge,
  close,
};

export const pr: Verb = {
  name: "pr",
  summary: "Open, list, show, merge and close pull requests.",
  usage: "list | show <id> | create <project> <branch> <title> | merge <id> | close <id>",
  isRemote: true,
  flags: [
    { name: "project", value: "id", doc: "For list: of this project." },
    { name: "ticket", value: "id", doc: "For list and create: of this ticket." },
    { name: "into", value: "branch", doc: "For create: into this branch, not the default one." },
    { name: "text", value: "text", doc: "For create: what it says; - reads standard input." },
    { name: "state", value: "state", doc: "For list: open, merged or closed." },
    { name: "diff", doc: "For show: the diff alone." },
    { name: "method", value: "method", doc: "For merge: squash, merge or rebase (squash)." },
    { name: "keep-branch", doc: "For merge: do not delete the branch afterwards." },
  ],
  async run(context, args) {
    const [action = ""] = args.positionals;
    const chosen = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined;
    if (chosen === undefined) throw new UsageError(`usage: drover ${pr.name} ${pr.usage}`, pr.name);
    return chosen(context, args);
  },
};
