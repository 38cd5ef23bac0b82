/** A request in the words of other programs: curl, the command line, and a file of YAML. What the page does, anybody can do. */
import type { NewSandbox } from "@drover/contract";

const quote = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

export function toCurl(request: NewSandbox, origin: string): string {
  const body = JSON.stringify(request, null, 2);
  return `curl -X POST ${origin}/api/v1/sandboxes \\\n  -H "Authorization: Bearer $DROVER_TOKEN" \\\n  -H "Content-Type: application/json" \\\n  -d ${quote(body)}`;
}

const FLAGS: readonly (readonly [flag: string, read: (request: NewSandbox) => string | number | undefined])[] = [
  ["runtime", ({ runtime }) => runtime],
  ["model", ({ model }) => model],
  ["project", ({ project_id }) => project_id],
  ["repo", ({ repo }) => repo],
  ["branch", ({ base_branch }) => base_branch],
  ["provider", ({ provider }) => provider],
  ["network", ({ network }) => network],
  ["memory", ({ resources }) => resources?.memory_gb],
  ["cpu", ({ resources }) => resources?.cpu],
  ["disk", ({ resources }) => resources?.disk_gb],
  ["budget", ({ budget_usd }) => budget_usd],
];

/** Fields that `drover run` has flags for. */
const FLAGGED: ReadonlySet<string> = new Set(
  "prompt runtime model project_id repo base_branch provider network resources budget_usd env".split(" "),
);

/** `drover run`, or where that has no flag for something the call itself. */
export function toCommand(request: NewSandbox): string {
  if (Object.keys(request).some((field) => !FLAGGED.has(field)))
    return `drover api createSandbox --body ${quote(JSON.stringify(request, null, 2))}`;
  const flags = FLAGS.flatMap(([flag, read]) => {
    const value = read(request);
    return value === undefined
      ? []
      : [`--${flag} ${/^[\w./:@-]+$/.test(String(value)) ? value : quote(String(value))}`];
  });
  const env = Object.entries(request.env ?? {}).map(([name, value]) => `-e ${quote(`${name}=${value}`)}`);
  return ["drover run", ...flags, ...env, `-- ${quote(request.prompt ?? "")}`].join(" \\\n  ");
}

const PLAIN = /^[A-Za-z][\w ./@-]*$/;
/** Words that YAML reads as something else. */
const READ_OTHERWISE = /^(?:true|false|yes|no|on|off|null|y|n)$/i;

function toScalar(value: unknown, indent: string): string {
  if (typeof value !== "string") return JSON.stringify(value);
  // A block keeps its lines as they are, unless one of them begins or ends with what a block would change.
  const isBlock = value.includes("\n") && !/^\s|[\t ]+(?:\n|$)|\n$|[^\n\P{C}]/u.test(value);
  if (isBlock) return `|-\n${value.replaceAll(/^(?=.)/gm, `${indent}  `)}`;
  return PLAIN.test(value) && !READ_OTHERWISE.test(value) && !value.endsWith(" ") ? value : JSON.stringify(value);
}

function toLines(value: object, indent: string): string {
  return Object.entries(value)
    .map(([name, part]: [string, unknown]) => {
      if (Array.isArray(part)) return `${indent}${name}: ${JSON.stringify(part)}\n`;
      if (typeof part === "object" && part !== null) return `${indent}${name}:\n${toLines(part, `${indent}  `)}`;
      return `${indent}${name}: ${toScalar(part, indent)}\n`;
    })
    .join("");
}

export const toYaml = (request: NewSandbox): string =>
  `# drover api createSandbox --body - < sandbox.yaml\n${toLines(request, "")}`;
