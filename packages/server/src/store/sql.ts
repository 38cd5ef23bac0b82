/** Plain SQL as a value: sql`select id from tasks where id = ${id}`. Interpolated values become parameters, statements become text. */
import { parameterComplaint } from "../ports/db.ts";
import type { Parameter, Statement } from "../ports/db.ts";

/** Text that is JSON on purpose; only `json` makes one. */
export class Json {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

// What JSON.stringify writes for NUL and for half a surrogate pair, neither of which jsonb can hold. An escaped backslash
// is matched too, so that the text "\\u0000" (six characters a person typed) stays as it is.
const UNSTORABLE = /\\(?:\\|u0000|ud[89a-f][0-9a-f]{2})/g;

/** Binds `value` as JSON. NUL and lone surrogates, which agents do print, become U+FFFD because jsonb refuses them. */
export function json(value: unknown): Json {
  const text = JSON.stringify(value) as string | undefined;
  if (text === undefined) throw new TypeError(`json() of ${typeof value}: JSON has no such value (say null)`);
  return new Json(text.replace(UNSTORABLE, (escape) => (escape === "\\\\" ? escape : "\ufffd")));
}

export type Fragment = Parameter | Json | readonly Json[] | Statement;

/** Builds a statement. A nested statement is spliced in with its own parameters; anything else becomes the next `$n`. */
export function sql(strings: TemplateStringsArray, ...fragments: readonly Fragment[]): Statement {
  const values: Parameter[] = [];
  let text = strings[0] ?? "";
  fragments.forEach((fragment, i) => {
    text += isStatement(fragment) ? splice(fragment, values) : bind(fragment, values);
    text += strings[i + 1] ?? "";
  });
  return { text, values };
}

/** Nothing: for a clause that is there only sometimes. */
export const empty: Statement = { text: "", values: [] };

/** Joins statements, for example conditions with sql` and `. No statements give an empty one. */
export function join(statements: readonly Statement[], separator: Statement = sql`, `): Statement {
  const values: Parameter[] = [];
  let text = "";
  statements.forEach((statement, i) => {
    if (i > 0) text += splice(separator, values);
    text += splice(statement, values);
  });
  return { text, values };
}

function isStatement(fragment: unknown): fragment is Statement {
  return typeof fragment === "object" && fragment !== null && "text" in fragment && "values" in fragment;
}

function bind(fragment: Parameter | Json | readonly Json[], values: Parameter[]): string {
  const value = Array.isArray(fragment) ? fragment.map(toText) : toText(fragment);
  const complaint = parameterComplaint(value);
  if (complaint !== undefined) throw new TypeError(`sql: ${complaint}`);
  values.push(value as Parameter);
  return `$${values.length}`;
}

const toText = (value: unknown): unknown => (value instanceof Json ? value.text : value);

function splice(statement: Statement, values: Parameter[]): string {
  const shift = values.length;
  values.push(...statement.values);
  if (shift === 0 || statement.values.length === 0) return statement.text;
  return statement.text.replace(/\$(\d+)/g, (_, n: string) => `$${Number(n) + shift}`);
}
