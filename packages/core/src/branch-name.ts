/** How branches and pull requests are named after their tickets, and how a ticket is found again in such names. */

const PREFIXES: Readonly<Record<string, string>> = {
  feature: "feature",
  enhancement: "feature",
  bug: "fix",
  fix: "fix",
  bugfix: "fix",
  hotfix: "hotfix",
  refactor: "refactor",
  refactoring: "refactor",
  docs: "docs",
  documentation: "docs",
  test: "test",
  tests: "test",
  chore: "chore",
};

const SLUG_CHARACTERS = 25;
const TITLE_CHARACTERS = 200;
const UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";

export interface TicketName {
  readonly id: string;
  readonly title: string;
  readonly ticket_type?: string | null;
  readonly priority?: string | null;
}

const isCritical = ({ priority }: TicketName): boolean => priority?.trim().toLowerCase() === "critical";

/** What nobody says is told by how urgent it is, and by its title. */
const pickType = (ticket: TicketName): string => {
  if (isCritical(ticket)) return "hotfix";
  return /\bbug(?:s|fix)?\b/i.test(ticket.title) ? "bug" : "feature";
};

const toPrefix = (ticket: TicketName): string => {
  const key = (ticket.ticket_type ?? pickType(ticket)).trim().toLowerCase();
  const prefix = Object.hasOwn(PREFIXES, key) ? (PREFIXES[key] ?? "feature") : "feature";
  return prefix === "fix" && isCritical(ticket) ? "hotfix" : prefix;
};

/** Letters lose their accents, everything else but digits and hyphens is dropped. */
const toSlug = (title: string): string =>
  title
    .normalize("NFKD")
    .toLowerCase()
    .replaceAll(/[^a-z0-9\s-]/g, "")
    .replaceAll(/[\s-]+/g, "-")
    .replace(/^-+/, "")
    .slice(0, SLUG_CHARACTERS)
    .replace(/-+$/, "");

/** `<prefix>/<ticket>-<slug>`, with `-2`, `-3`, ... while the name is taken. */
export function toTicketBranch(ticket: TicketName, taken: ReadonlySet<string>): string {
  const slug = toSlug(ticket.title);
  const name = `${toPrefix(ticket)}/${ticket.id}${slug === "" ? "" : `-${slug}`}`;
  if (!taken.has(name)) return name;
  for (let count = 2; ; count += 1) if (!taken.has(`${name}-${count}`)) return `${name}-${count}`;
}

/** A branch of its own for a task that runs beside others. Not below the ticket's, which Git would refuse. */
export const toTaskBranch = (ticketBranch: string, taskId: string): string => `${ticketBranch}--${taskId.slice(0, 8)}`;

export const toPullTitle = (ticketId: string, title: string): string =>
  `[${ticketId}] ${title.replaceAll(/\s+/g, " ").trim()}`.slice(0, TITLE_CHARACTERS);

export const toPullBody = (ticketId: string, text: string | null): string =>
  [`Resolves #${ticketId}`, "", text ?? "Made by Drover."].join("\n");

const TICKET_PATTERNS = [
  new RegExp(`\\[(?:ticket-)?(${UUID})\\]`, "i"),
  new RegExp(`(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?) +(?:#|ticket-)+(${UUID})`, "i"),
  new RegExp(`(?:#|ticket-|^|/)(${UUID})(?![0-9a-f])`, "im"),
];

/** The ticket that a title, a body, a branch or a commit's message names; the surest sign first. */
export function parseTicketRef(...texts: readonly string[]): string | undefined {
  for (const pattern of TICKET_PATTERNS)
    for (const text of texts) {
      const [, id] = pattern.exec(text) ?? [];
      if (id !== undefined) return id.toLowerCase();
    }
  return undefined;
}

/** One end of a pull request, as GitHub tells it; the repository is null when it is gone. */
export interface PullEndName {
  readonly ref: string;
  readonly label?: string | null | undefined;
  readonly repo?: { readonly full_name: string } | null | undefined;
}

const differ = (one: string | undefined, other: string | undefined): boolean =>
  one !== undefined && other !== undefined && one !== other;

/** The branch that would be merged. One of somebody else's copy of the repository is named after it, with a colon, which no branch of
 *  ours has in its name: what is done to a branch is never done to one of ours that only is called the same. */
export function toHeadName(head: PullEndName, base: PullEndName): string {
  const [owner, ours] = [head, base].map(({ label }) => label?.split(":")[0]);
  const isForeign = head.repo === null || differ(head.repo?.full_name, base.repo?.full_name) || differ(owner, ours);
  return isForeign ? `${head.repo?.full_name ?? owner ?? "unknown"}:${head.ref}` : head.ref;
}

/** Git's own rules for a branch's name (`git check-ref-format --branch`), narrowed to what no program misreads. */
export const isBranchName = (name: string): boolean =>
  name.length <= 250 &&
  /^[A-Za-z0-9_][A-Za-z0-9_./+@=#-]*$/.test(name) &&
  !/\.\.|\/\/|\/\.|@\{|\.lock(?:\/|$)|[./]$/.test(name) &&
  name !== "HEAD";
