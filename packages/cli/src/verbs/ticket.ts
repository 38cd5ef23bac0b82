/** drover ticket: what somebody wants done. */
import { BlockedReason, SearchType, TicketStatus, type Ticket } from "@drover/contract";
import { takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { toElapsed } from "../elapsed.ts";
import { EXIT, UsageError } from "../exit-code.ts";
import { printList } from "../list-text.ts";
import { formatTexts } from "../table.ts";
import { wrap } from "../terminal.ts";
import type { Arguments, Context, Verb } from "../verb.ts";

const toState = (one: Ticket): string =>
  one.approval_status === "approved" ? (one.is_blocked ? `${one.status} (blocked)` : one.status) : one.approval_status;

/** In the words of whatever blocked it. */
function toCause(one: Ticket): string | null {
  const { blocked_cause: cause } = one.context;
  return one.is_blocked && typeof cause === "string" ? cause : one.blocked_reason;
}

function showTicket(context: Context, args: Arguments, one: Ticket): number {
  const fields = formatTexts(
    [
      ["ticket", one.id],
      ["title", one.title],
      ["state", toState(one)],
      ["why", one.rejection_reason ?? toCause(one)],
      ["kind", one.ticket_type],
      ["priority", one.priority],
      ["project", one.project_id],
      ["wanted", one.description],
    ],
    context.width,
  );
  if (args.has("json")) context.print(JSON.stringify(one, null, 2));
  else for (const line of fields) context.print(line);
  return EXIT.ok;
}

/** `owner/name`, as GitHub writes it. */
function toPlace(given: string | undefined) {
  if (given === undefined) return {};
  const [github_owner = "", github_repo = "", ...more] = given.split("/");
  if (github_owner === "" || github_repo === "" || more.length > 0)
    throw new UsageError("--github is owner/name", ticket.name);
  return { github_owner, github_repo };
}

async function create(context: Context, args: Arguments): Promise<number> {
  const [, title = ""] = takePositionals(ticket, args, 2, 2);
  const [project_id, description, priority] = [args.get("project"), args.get("description"), args.get("priority")];
  const ticket_type = args.get("type");
  const body = {
    title,
    ...(project_id === undefined ? {} : { project_id }),
    ...toPlace(args.get("github")),
    ...(description === undefined ? {} : { description }),
    ...(priority === undefined ? {} : { priority }),
    ...(ticket_type === undefined ? {} : { ticket_type }),
    ...(args.has("quick") ? { workflow_mode: "quick" as const } : {}),
    ...(args.has("force") ? { force_create: true } : {}),
  };
  return showTicket(context, args, await connect(context, args).createTicket({ body }, { signal: context.signal }));
}

async function list(context: Context, args: Arguments): Promise<number> {
  takePositionals(ticket, args, 1, 1);
  const query = { limit: 100, project_id: args.get("project"), q: args.get("search") };
  const page = await connect(context, args).listTickets({ query }, { signal: context.signal });
  const now = context.now();
  printList(context, args, page, {
    header: ["ID", "STATE", "PRIORITY", "AGE", "TITLE"],
    toRow: (one) => [one.id, toState(one), one.priority, toElapsed(one.created_at, now), one.title],
    nothing: "There are no such tickets.",
  });
  return EXIT.ok;
}

async function show(context: Context, args: Arguments): Promise<number> {
  const [, ticket_id = ""] = takePositionals(ticket, args, 2, 2);
  return showTicket(
    context,
    args,
    await connect(context, args).getTicket({ params: { ticket_id } }, { signal: context.signal }),
  );
}

async function change(context: Context, args: Arguments): Promise<number> {
  const [, ticket_id = ""] = takePositionals(ticket, args, 2, 2);
  const [title, description, priority] = [args.get("title"), args.get("description"), args.get("priority")];
  const body = {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(priority === undefined ? {} : { priority }),
  };
  if (Object.keys(body).length === 0)
    throw new UsageError("--title, --description or --priority say what is changed", ticket.name);
  const call = { params: { ticket_id }, body };
  return showTicket(context, args, await connect(context, args).updateTicket(call, { signal: context.signal }));
}

async function progress(context: Context, args: Arguments): Promise<number> {
  const [, ticket_id = ""] = takePositionals(ticket, args, 2, 2);
  const call = { params: { ticket_id } };
  const found = await connect(context, args).getTicketProgress(call, { signal: context.signal });
  const states = Object.entries(found.by_status).map(([state, count]) => `${count} ${state}`);
  const text = `${found.completed} of ${found.total_tasks} tasks are done (${Math.round(found.percent)} %)`;
  const line = states.length === 0 ? text : `${text}: ${states.join(", ")}`;
  if (args.has("json")) context.print(JSON.stringify(found, null, 2));
  else for (const part of wrap(line, context.width)) context.print(part);
  return EXIT.ok;
}

async function move(context: Context, args: Arguments): Promise<number> {
  const [, ticket_id = "", wanted = ""] = takePositionals(ticket, args, 3, 3);
  const to_status = TicketStatus.safeParse(wanted).data;
  if (to_status === undefined) throw new UsageError(`a ticket can be ${TicketStatus.options.join(", ")}`, ticket.name);
  const call = { params: { ticket_id }, body: { to_status } };
  return showTicket(context, args, await connect(context, args).transitionTicket(call, { signal: context.signal }));
}

async function approve(context: Context, args: Arguments): Promise<number> {
  const [, ticket_id = ""] = takePositionals(ticket, args, 2, 2);
  const call = { params: { ticket_id } };
  return showTicket(context, args, await connect(context, args).approveTicket(call, { signal: context.signal }));
}

async function reject(context: Context, args: Arguments): Promise<number> {
  const [, ticket_id = "", rejection_reason = ""] = takePositionals(ticket, args, 3, 3);
  const call = { params: { ticket_id }, body: { rejection_reason } };
  return showTicket(context, args, await connect(context, args).rejectTicket(call, { signal: context.signal }));
}

async function block(context: Context, args: Arguments): Promise<number> {
  const [, ticket_id = "", wanted = ""] = takePositionals(ticket, args, 3, 3);
  const reason = BlockedReason.safeParse(wanted).data;
  if (reason === undefined) throw new UsageError(`a reason is ${BlockedReason.options.join(", ")}`, ticket.name);
  const call = { params: { ticket_id }, body: { reason } };
  return showTicket(context, args, await connect(context, args).blockTicket(call, { signal: context.signal }));
}

async function unblock(context: Context, args: Arguments): Promise<number> {
  const [, ticket_id = ""] = takePositionals(ticket, args, 2, 2);
  const call = { params: { ticket_id } };
  return showTicket(context, args, await connect(context, args).unblockTicket(call, { signal: context.signal }));
}

/** Why nothing of it goes on. */
async function why(context: Context, args: Arguments): Promise<number> {
  const [, ticket_id = ""] = takePositionals(ticket, args, 2, 2);
  const call = { params: { ticket_id } };
  const found = await connect(context, args).detectBlocking(call, { signal: context.signal });
  const page = { items: found.reasons, next_cursor: null };
  printList(context, args, page, {
    header: ["WHAT", "WHY"],
    toRow: (one) => [one.kind, one.detail],
    nothing: "Nothing stands in its way.",
  });
  return EXIT.ok;
}

async function search(context: Context, args: Arguments): Promise<number> {
  const [, ...words] = takePositionals(ticket, args, 2, Number.POSITIVE_INFINITY);
  const search_type = SearchType.safeParse(args.get("by") ?? "hybrid").data;
  if (search_type === undefined) throw new UsageError(`--by takes ${SearchType.options.join(", ")}`, ticket.name);
  const project_id = args.get("project");
  const body = { query: words.join(" "), search_type, ...(project_id === undefined ? {} : { project_id }) };
  const found = await connect(context, args).searchTickets({ body }, { signal: context.signal });
  const toPlaceText = (rank: number | null) => (rank === null ? "-" : String(rank));
  printList(
    context,
    args,
    { items: found.items, next_cursor: null },
    {
      header: ["ID", "WORDS", "LIKENESS", "STATE", "TITLE"],
      toRow: (one) => [
        one.ticket.id,
        toPlaceText(one.keyword_rank),
        toPlaceText(one.semantic_rank),
        toState(one.ticket),
        one.ticket.title,
      ],
      nothing: "No ticket is like that.",
    },
  );
  return EXIT.ok;
}

async function resolve(context: Context, args: Arguments): Promise<number> {
  const [, ticket_id = "", resolution_comment = ""] = takePositionals(ticket, args, 3, 3);
  const call = { params: { ticket_id }, body: { resolution_comment } };
  return showTicket(context, args, await connect(context, args).resolveTicket(call, { signal: context.signal }));
}

async function comment(context: Context, args: Arguments): Promise<number> {
  const [, ticket_id = "", text = ""] = takePositionals(ticket, args, 3, 3);
  const comment_text = text === "-" ? (await context.readInput()).trimEnd() : text;
  const call = { params: { ticket_id }, body: { comment_text } };
  const said = await connect(context, args).addTicketComment(call, { signal: context.signal });
  context.print(args.has("json") ? JSON.stringify(said, null, 2) : said.id);
  return EXIT.ok;
}

async function comments(context: Context, args: Arguments): Promise<number> {
  const [, ticket_id = ""] = takePositionals(ticket, args, 2, 2);
  const call = { params: { ticket_id }, query: { limit: 100 } };
  const page = await connect(context, args).listTicketComments(call, { signal: context.signal });
  const now = context.now();
  printList(context, args, page, {
    header: ["AGE", "BY", "KIND", "TEXT"],
    toRow: (one) => [toElapsed(one.created_at, now), one.author_name, one.comment_type, one.comment_text],
    nothing: "Nothing was said on it.",
  });
  return EXIT.ok;
}

async function history(context: Context, args: Arguments): Promise<number> {
  const [, ticket_id = ""] = takePositionals(ticket, args, 2, 2);
  const call = { params: { ticket_id }, query: { limit: 100 } };
  const page = await connect(context, args).getTicketHistory(call, { signal: context.signal });
  const now = context.now();
  printList(context, args, page, {
    header: ["SEQ", "AGE", "BY", "WHAT"],
    toRow: (one) => [String(one.seq), toElapsed(one.created_at, now), one.source, one.event_type],
    nothing: "Nothing happened to it.",
  });
  return EXIT.ok;
}

/** `after`: waits for another ticket from now on. `free`: does not wait for it any more. */
const toTie =
  (isAdded: boolean) =>
  async (context: Context, args: Arguments): Promise<number> => {
    const [, ticket_id = "", other = ""] = takePositionals(ticket, args, 3, 3);
    const [client, { signal }] = [connect(context, args), context];
    const { blockers } = isAdded
      ? await client.addTicketBlocker({ params: { ticket_id }, body: { blocked_by_ticket_id: other } }, { signal })
      : await client.removeTicketBlocker({ params: { ticket_id, blocker_id: other } }, { signal });
    printList(
      context,
      args,
      { items: blockers, next_cursor: null },
      {
        header: ["WAITS FOR", "STATE", "TITLE"],
        toRow: (one) => [one.id, one.status, one.title],
        nothing: "It waits for no other ticket.",
      },
    );
    return EXIT.ok;
  };

const ACTIONS: Readonly<Record<string, (context: Context, args: Arguments) => Promise<number>>> = {
  create,
  list,
  show,
  progress,
  set: change,
  move,
  approve,
  reject,
  block,
  unblock,
  why,
  after: toTie(true),
  free: toTie(false),
  search,
  resolve,
  comment,
  comments,
  history,
};

export const ticket: Verb = {
  name: "ticket",
  summary: "Create, find, change, approve, comment and resolve tickets.",
  usage:
    "create <title> | list | show <id> | progress <id> | set <id> | move <id> <state> | approve <id> | reject <id> <reason> | block <id> <reason> | unblock <id> | why <id> | after <id> <ticket> | free <id> <ticket> | search <text...> | resolve <id> <why> | comment <id> <text> | comments <id> | history <id>",
  isRemote: true,
  flags: [
    { name: "project", value: "id", doc: "The project." },
    { name: "github", value: "owner/name", doc: "For create: the project of this repository; made if there is none." },
    { name: "title", value: "text", doc: "For set: another title." },
    { name: "description", value: "text", doc: "For create and set: what is wanted." },
    { name: "priority", value: "priority", doc: "For create and set: CRITICAL, HIGH, MEDIUM or LOW (MEDIUM)." },
    {
      name: "type",
      value: "kind",
      doc: "For create: feature, bug, hotfix, refactor, docs, test or chore; its branch is named after it.",
    },
    { name: "quick", doc: "For create: begin at once, with one task." },
    { name: "force", doc: "For create: also if there are tickets like it." },
    { name: "by", value: "way", doc: "For search: hybrid, keyword or semantic (hybrid)." },
    { name: "search", short: "q", value: "text", doc: "For list: only those that match the text." },
  ],
  async run(context, args) {
    const [action = ""] = args.positionals;
    const chosen = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined;
    if (chosen === undefined) throw new UsageError(`usage: drover ${ticket.name} ${ticket.usage}`, ticket.name);
    return chosen(context, args);
  },
};
