/** The files that are written from the code: the wire, the options, the command line, the promises, the state diagrams. */
import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { z } from "zod";
import { toCliPage } from "../packages/cli/src/cli-page.ts";
import * as contract from "../packages/contract/src/index.ts";
import { toPromisesPage } from "../packages/testkit/src/rules/promises.ts";
import { ROOT } from "./steps.ts";

export interface Generated {
  readonly path: string;
  readonly text: string;
}

/** A part of an endpoint stands among the schemas too, under the contract's name for it or its own: `login.body`. */
function nameSchemas(): z.core.$ZodRegistry<{ id: string }> {
  const named = z.registry<{ id: string }>();
  for (const [id, value] of Object.entries(contract))
    if (value instanceof z.ZodType && !named.has(value)) named.add(value, { id });
  for (const [name, endpoint] of Object.entries<contract.Endpoint>(contract.api))
    for (const part of ["params", "query", "body", "reply"] as const) {
      const schema = endpoint[part];
      if (schema !== undefined && !named.has(schema)) named.add(schema, { id: `${name}.${part}` });
    }
  return named;
}

/** Endpoints by name, every schema (frames and events among them), refusals. What code checks beyond JSON Schema is left open. */
function toWire(): string {
  const named = nameSchemas();
  const nameOf = (schema: z.ZodType | undefined) => (schema === undefined ? undefined : named.get(schema)?.id);
  const endpoints = Object.entries<contract.Endpoint>(contract.api).map(([name, endpoint]) => [
    name,
    {
      method: endpoint.method,
      path: contract.API_BASE + endpoint.path,
      access: endpoint.access,
      verb: endpoint.verb,
      creates: endpoint.creates,
      status: endpoint.status ?? 200,
      params: nameOf(endpoint.params),
      query: nameOf(endpoint.query),
      body: nameOf(endpoint.body),
      reply: nameOf(endpoint.reply),
    },
  ]);
  const { schemas } = z.toJSONSchema(named, { io: "input", unrepresentable: "any", uri: (id) => `#/schemas/${id}` });
  const wire = {
    endpoints: Object.fromEntries(endpoints),
    schemas: Object.fromEntries(
      Object.entries(schemas)
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([id, { $schema: _, $id: __, ...schema }]) => [id, schema]),
    ),
    errors: contract.ERRORS,
    close_codes: contract.CLOSE,
  };
  return `${JSON.stringify(wire, null, 1)}\n`;
}

const code = (text: string | undefined) => (text === undefined ? "" : `\`${text}\``);

function toOptionsPage(): string {
  const rows = Object.values<contract.Option>(contract.OPTIONS).map((option) =>
    [
      code(option.env),
      code(option.flag),
      code(option.yaml),
      code(option.fallback),
      option.secret === true ? `${option.doc} A secret: shown as \`***\`.` : option.doc,
    ].join(" | "),
  );
  return [
    "# Options",
    "",
    "Written by `npm run gen` from `packages/contract/src/options.ts`. The first that is set wins: flag, environment,",
    "`.env`, `drover.yaml`, default.",
    "",
    "| environment | flag | drover.yaml | default | meaning |",
    "|---|---|---|---|---|",
    ...rows.map((row) => `| ${row} |`),
    "",
  ].join("\n");
}

const BY_VERB: Readonly<Record<string, string>> = { read: "viewer", operate: "operator", administer: "admin" };

/** Who may call it, in words. */
function toCaller({ access, verb, isShared }: contract.Endpoint): string {
  const who =
    access === "person"
      ? (BY_VERB[verb ?? ""] ?? "anybody with a token")
      : access === "worker"
        ? "its worker"
        : "everybody";
  return isShared === true ? `${who}, link` : who;
}

/** Calls that other documents name, and why they are not here. */
const NOT_THERE = [
  "## What is not there",
  "",
  "Calls that other documents name, and what to use. [Events](EVENTS.md) has the same for events.",
  "",
  "| call | why, and what instead |",
  "|---|---|",
  "| `GET /tickets/search` | `POST /tickets/search`: what is looked for may be long; `GET /tickets?q=` finds a word |",
  "| `/preview...` | `POST /sandboxes/:sandbox_id/preview`: a preview is a link that opens a port, not a thing that is kept |",
  "",
];

/** By the first word of the path, in the order of the contract. */
function toApiPage(): string {
  const groups = Map.groupBy(
    Object.entries<contract.Endpoint>(contract.api),
    ([, { path }]) => path.split("/")[1]?.split(":")[0] ?? "",
  );
  const sections = [...groups].flatMap(([noun, endpoints]) => [
    `## ${noun}`,
    "",
    "| call | who | what |",
    "|---|---|---|",
    ...endpoints.map(
      ([name, endpoint]) =>
        `| \`${endpoint.method} ${endpoint.path}\` | ${toCaller(endpoint)} | ${endpoint.summary.replaceAll("|", "\\|")} \`${name}\` |`,
    ),
    "",
  ]);
  const errors = Object.entries<{ status: number; retry: boolean; title: string }>(contract.ERRORS).map(
    ([name, { status, retry, title }]) => `| \`${name}\` | ${status} | ${retry ? "yes" : "no"} | ${title} |`,
  );
  return [
    "# HTTP API",
    "",
    "Written by `npm run gen` from `packages/contract/src/endpoints`. All paths are below `/api/v1`. Shapes, names and limits of every",
    "parameter, body and reply are in `packages/contract/wire.json`, and in `GET /openapi.json` of a running server. The last word of",
    "each line is the method of `@drover/client`.",
    "",
    "Credentials are `Authorization: Bearer drv_u_...`, or the cookie of the page; a role is what the token must have at least on the",
    "project. `link` is a link that shows one run. Every POST with a credential takes `Idempotency-Key`: for a day the same key gives the first",
    "reply again and does nothing; with another body it is refused. What was refused leaves its key unused.",
    "A refusal is `application/problem+json` with one of the codes at the end of this page.",
    "",
    ...sections,
    ...NOT_THERE,
    "## Refusals",
    "",
    "| code | status | a retry may help | meaning |",
    "|---|---|---|---|",
    ...errors,
    "",
  ].join("\n");
}

type Machine = Readonly<Record<string, Readonly<Record<string, string>>>>;

const isMachine = (value: unknown): value is Machine =>
  typeof value === "object" &&
  value !== null &&
  Object.values(value).every((row) => typeof row === "object" && row !== null);

/** One arrow per pair of states. A state that is only left to itself is an end. */
function toDiagram(machine: Machine): readonly string[] {
  const states = Object.keys(machine);
  const arrows = Object.entries(machine).flatMap(([from, row]) => {
    const byTarget = Map.groupBy(Object.entries(row), ([, to]) => to);
    return [...byTarget].map(([to, cells]) => `  ${from} --> ${to}: ${cells.map(([event]) => event).join(", ")}`);
  });
  const ends = states.filter((state) => Object.values(machine[state] ?? {}).every((to) => to === state));
  return ["stateDiagram-v2", `  [*] --> ${states[0]}`, ...arrows, ...ends.map((state) => `  ${state} --> [*]`)];
}

async function toDiagrams(): Promise<string> {
  const files = globSync("packages/core/src/*-machine.ts", { cwd: ROOT }).sort();
  const sections = await Promise.all(
    files.map(async (file) => {
      const exported: Record<string, unknown> = await import(join(ROOT, file));
      const machine = Object.entries(exported).find(([name]) => name === name.toUpperCase())?.[1];
      if (!isMachine(machine)) throw new Error(`${file} exports no table {[from]: {[event]: to}} in capitals`);
      const noun = basename(file, "-machine.ts");
      return [`**${noun}** (\`${file}\`)`, "", "```mermaid", ...toDiagram(machine), "```"].join("\n");
    }),
  );
  return sections.join("\n\n");
}

const OPEN = "<!-- written by npm run gen: state diagrams -->";
const CLOSE = "<!-- end of what is written -->";

async function toArchitecture(path: string): Promise<string> {
  const text = readFileSync(join(ROOT, path), "utf8");
  const [before, rest] = text.split(OPEN);
  const after = rest?.split(CLOSE)[1];
  if (before === undefined || after === undefined) throw new Error(`${path} lacks the line ${OPEN} or ${CLOSE}`);
  return `${before}${OPEN}\n\n${await toDiagrams()}\n\n${CLOSE}${after}`;
}

export async function generate(): Promise<readonly Generated[]> {
  const architecture = "docs/ARCHITECTURE.md";
  return [
    { path: "packages/contract/wire.json", text: toWire() },
    { path: "docs/OPTIONS.md", text: toOptionsPage() },
    { path: "docs/CLI.md", text: toCliPage() },
    { path: "docs/API.md", text: toApiPage() },
    { path: "docs/PROMISES.md", text: toPromisesPage() },
    { path: architecture, text: await toArchitecture(architecture) },
  ];
}
