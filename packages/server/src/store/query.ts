/** A query is a title, a row schema, a sample and a statement. Declaring one registers it, so that a test can run them all. */
import { createHash } from "node:crypto";
import type { z } from "zod";
import type { Db, Statement } from "../ports/db.ts";

export interface QueryOptions {
  /** Skips zod: for pages of rows that this program wrote and that are parsed again further out. */
  readonly trusted?: boolean;
  /** Lets every connection prepare the text once. Not for optional filters: a generic plan may suit none of them. */
  readonly prepared?: boolean;
}

export interface Query<Row, Args extends readonly unknown[]> {
  (db: Db, ...args: Args): Promise<readonly Row[]>;
  /** The one row of a statement that always has one (`count(*)`, `insert ... returning`); none or several is a bug. */
  one(db: Db, ...args: Args): Promise<Row>;
  /** The row, or undefined when there is none; several is a bug. */
  maybe(db: Db, ...args: Args): Promise<Row | undefined>;
}

/** What the catalogue test needs: the statement with its sample, and the field names it must give. */
export interface CatalogueEntry {
  readonly title: string;
  readonly fields: readonly string[];
  readonly sample: () => Statement;
}

const entries = new Map<string, CatalogueEntry>();

/** Every declared query and command whose module is loaded. */
export const catalogue: ReadonlyMap<string, CatalogueEntry> = entries;

/** Declares a query. The types of its arguments are those of `build`; `sample` is one plausible set of them. */
export function query<S extends z.ZodObject, A extends readonly unknown[]>(
  title: string,
  row: S,
  sample: NoInfer<A>,
  build: (...args: A) => Statement,
  options: QueryOptions = {},
): Query<z.output<S>, A> {
  type Row = z.output<S>;
  register({ title, fields: Object.keys(row.shape), sample: () => build(...sample) });
  const name = options.prepared === true ? statementNames(title) : undefined;
  const rows = row.array();
  const list = async (db: Db, ...args: A): Promise<readonly Row[]> => {
    const statement = build(...args);
    const found = await db.query(name === undefined ? statement : { ...statement, name: name(statement.text) });
    if (options.trusted === true) return found as readonly Row[];
    const parsed = rows.safeParse(found);
    if (!parsed.success) throw new Error(`query ${title}: a row is not as its schema says`, { cause: parsed.error });
    return parsed.data;
  };
  const maybe = async (db: Db, ...args: A): Promise<Row | undefined> => {
    const found = await list(db, ...args);
    if (found.length > 1) throw new Error(`query ${title}: ${found.length} rows where at most one was promised`);
    return found[0];
  };
  const one = async (db: Db, ...args: A): Promise<Row> => {
    const found = await maybe(db, ...args);
    if (found === undefined) throw new Error(`query ${title}: no row where one was promised`);
    return found;
  };
  return Object.assign(list, { one, maybe });
}

/** Declares a statement that returns no rows. To learn what an `update` changed, use `query` and `returning`. */
export function command<A extends readonly unknown[]>(
  title: string,
  sample: NoInfer<A>,
  build: (...args: A) => Statement,
): (db: Db, ...args: A) => Promise<void> {
  register({ title, fields: [], sample: () => build(...sample) });
  return async (db, ...args) => {
    await db.query(build(...args));
  };
}

function register(entry: CatalogueEntry): void {
  if (entries.has(entry.title)) throw new Error(`two queries are called ${entry.title}`);
  entries.set(entry.title, entry);
}

/** One name per text, because `build` may write different texts; the hash keeps names of different versions apart. */
function statementNames(title: string): (text: string) => string {
  const names = new Map<string, string>();
  return (text) => {
    let name = names.get(text);
    if (name === undefined) {
      name = `${title.slice(0, 40)}:${createHash("sha256").update(text).digest("hex").slice(0, 16)}`;
      names.set(text, name);
    }
    return name;
  };
}
