/** drover api: any call of the HTTP API, by its name. */
import type { CallOptions, Client } from "@drover/client";
import { api as calls, type Endpoint } from "@drover/contract";
import { connect } from "../connection.ts";
import { EXIT, UsageError } from "../exit-code.ts";
import { printList } from "../list-text.ts";
import { printContent } from "../print-content.ts";
import type { Arguments, Context, Verb } from "../verb.ts";

/** Every call takes and gives what its endpoint says; by name alone that cannot be told apart. */
type AnyCall = (input: object, options: CallOptions) => Promise<unknown>;

const ENDPOINTS: Readonly<Record<string, Endpoint>> = calls;

function list(context: Context, args: Arguments, wanted: string): number {
  const items = Object.entries(ENDPOINTS)
    .filter(([name, { path, summary }]) => `${name} ${path} ${summary}`.toLowerCase().includes(wanted.toLowerCase()))
    .map(([name, { method, path, summary }]) => ({ name, method, path, summary }));
  printList(
    context,
    args,
    { items },
    {
      header: ["CALL", "METHOD", "PATH"],
      toRow: ({ name, method, path }) => [name, method, path],
      nothing: "There are no such calls.",
    },
  );
  return EXIT.ok;
}

/** What the path names is a parameter, everything else is asked for after the `?`; a name given twice is a list. */
function toInput(endpoint: Endpoint, assignments: readonly string[]) {
  const params: Record<string, string> = {};
  const query: Record<string, string[]> = {};
  for (const text of assignments) {
    const at = text.indexOf("=");
    if (at < 1) throw new UsageError(`expected name=value, not ${JSON.stringify(text)}`, api.name);
    const [name, value] = [text.slice(0, at), text.slice(at + 1)];
    if (endpoint.path.split("/").includes(`:${name}`)) params[name] = value;
    else (query[name] ??= []).push(value);
  }
  const missing = Array.from(endpoint.path.matchAll(/:([a-z_]+)/g), ([, name = ""]) => name).filter(
    (name) => params[name] === undefined,
  );
  if (missing.length > 0) throw new UsageError(`${endpoint.path} needs ${missing.join(", ")}`, api.name);
  return { params, query };
}

async function readBody(context: Context, args: Arguments): Promise<unknown> {
  const given = args.get("body");
  if (given === undefined) return undefined;
  const text = given === "-" ? await context.readInput() : given;
  const complain = (why: string) => new UsageError(`--body is neither JSON nor YAML: ${why}`, api.name);
  // Every JSON is YAML too.
  const { parse } = await import("yaml");
  let body: unknown;
  try {
    body = parse(text);
  } catch (cause) {
    throw complain(cause instanceof Error ? cause.message : "");
  }
  if (typeof body !== "object" || body === null) throw complain("it holds no fields");
  return body;
}

const tell = (context: Context, reply: unknown): void | Promise<void> =>
  reply instanceof Response ? printContent(context, reply) : context.print(JSON.stringify(reply, null, 2));

export const api: Verb = {
  name: "api",
  summary: "Make any call of the HTTP API.",
  usage: "list [text] | <call> [name=value...]",
  isRemote: true,
  flags: [{ name: "body", value: "text", doc: "What is sent, as JSON or YAML; - reads it from standard input." }],
  details:
    "Calls have the names of docs/API.md. A name=value whose name stands in the path is put there, the others are the query; a name may be repeated. The answer is JSON, or what was asked for as it is.",
  async run(context, args) {
    const [name = "", ...rest] = args.positionals;
    if (name === "list") return list(context, args, rest.join(" "));
    const endpoint = Object.hasOwn(ENDPOINTS, name) ? ENDPOINTS[name] : undefined;
    if (endpoint === undefined)
      throw new UsageError(`there is no call ${JSON.stringify(name)}; see: drover api list`, api.name);
    const body = await readBody(context, args);
    const client = connect(context, args);
    const call = client[name as keyof Client] as AnyCall;
    const input = { ...toInput(endpoint, rest), ...(body === undefined ? {} : { body }) };
    await tell(context, await call(input, { signal: context.signal }));
    return EXIT.ok;
  },
};
