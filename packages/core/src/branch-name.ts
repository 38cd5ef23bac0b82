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

const toPrefix = ({ ticket_type: type, priority }: TicketName): string => {
  const key = (type ?? "feature").trim().toLowerCase();
  const prefix = Object.hasOwn(PREFIXES, key) ? (PREFIXES[key] ?? "feature") : "feature";
  return prefix === "fix" && priority?.trim().toLowerCase() === "critical" ? "hotfix" : prefix;
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

/** Git's own rules for a branch's name (`git check-ref-format --branch`), narrowed to what no program misreads. */
export const isBranchName = (name: string): boolean =>
  name.length <= 250 &&
  /^[A-Za-z0-9_][A-Za-z0-9_./+@=#-]*$/.test(name) &&
  !/\.\.|\/\/|\/\.|@\{|\.lock(?:\/|$)|[./]$/.test(name) &&
  name !== "HEAD";
