/** The database: parameterised statements and transactions, nothing else. */

/** A value that may stand for `$n`. An array is bound as a Postgres array; JSON travels as the text made by `json(value)`. */
export type Parameter = Scalar | readonly (Scalar | readonly Scalar[])[];
export type Scalar = string | number | bigint | boolean | null | Date | Uint8Array;

export interface Statement {
  readonly text: string;
  readonly values: readonly Parameter[];
  /** Names a statement that each connection prepares once. One name always means one text; at most 63 bytes. */
  readonly name?: string;
}

export type Row = Readonly<Record<string, unknown>>;

/** Contract:
 *  - `int8` (and `count(*)`) arrives as a number, and a value beyond the safe integers is refused; `numeric`, `date` and
 *    `timestamp` arrive as text; `timestamptz` as a Date; `json` and `jsonb` parsed.
 *  - a parameter that is `undefined` or a bare object is refused before anything is sent.
 *  - `tx` commits when `fn` resolves and rolls back when it rejects. Inside a transaction `tx` is a savepoint; while it is
 *    open the outer handle refuses to work, and every handle refuses after its end. Statements of one transaction run in
 *    the order they were asked for.
 *  - a lost or unreachable server is AppError "database.unavailable" (after a lost `commit` the outcome is unknown), a
 *    server without disk space is "data_dir.full"; every other failure of a statement keeps its SQLSTATE in `code`.
 *  - the handle outlives the server: once that is back, so is the handle.
 *  - `close` is idempotent, waits for what is under way, and is refused inside a transaction. */
export interface Db {
  query(statement: Statement): Promise<readonly Row[]>;
  tx<T>(fn: (tx: Db) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** Says what is wrong with a would-be parameter; undefined when it is fine. */
export function parameterComplaint(value: unknown): string | undefined {
  switch (typeof value) {
    case "string":
    case "number":
    case "bigint":
    case "boolean":
      return undefined;
    case "undefined":
      return "a parameter is undefined (say null)";
    case "object":
      if (value === null || value instanceof Date || value instanceof Uint8Array) return undefined;
      if (!Array.isArray(value)) return "a parameter is an object (say json(value))";
      for (const item of value as unknown[]) {
        const complaint = parameterComplaint(item);
        if (complaint !== undefined) return complaint;
      }
      return undefined;
    default:
      return `a parameter is a ${typeof value}`;
  }
}
