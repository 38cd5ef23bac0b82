/** `Db` over a pool of `pg` connections, which survives restarts of the server. */
import { AppError } from "@drover/contract";
import pg from "pg";
import { parameterComplaint } from "../ports/db.ts";
import type { Db, Row, Statement } from "../ports/db.ts";

export interface PostgresOptions {
  /** `postgresql://...`; a unix socket is `postgresql://user@/database?host=/directory`. */
  readonly url: string;
  readonly maxConnections?: number;
  /** The server ends a statement that takes longer; 0 means never. */
  readonly statementTimeoutMs?: number;
  readonly onIdleError?: (error: Error) => void;
}

const CONNECT_TIMEOUT_MS = 2_000;
// Longer than the connect timeout: a busy pool is not an outage.
const POOL_WAIT_MS = 10_000;

export function openPostgres(options: PostgresOptions): Db {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.maxConnections ?? 12,
    connectionTimeoutMillis: POOL_WAIT_MS,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    statement_timeout: options.statementTimeoutMs ?? 60_000,
    idle_in_transaction_session_timeout: 60_000,
    application_name: "drover",
    types: { getTypeParser },
    Client: QuickToGiveUp,
  });
  // A pool that was ended does not wait for its connections to be: what becomes of those is no loss.
  pool.on("error", (error) => {
    if (closed === undefined) options.onIdleError?.(error);
  });
  // A connection may break while a transaction holds it between two statements. Nobody listens then, and an unheard
  // "error" would end the process; the next statement on it fails and reports.
  pool.on("connect", (client) => client.on("error", () => undefined));
  let closed: Promise<void> | undefined;

  const connect = async (): Promise<pg.PoolClient> => {
    if (closed !== undefined) throw new Error("the database handle is closed");
    return await pool.connect().catch((error: unknown) => Promise.reject(toAppError(error)));
  };
  const withClient = async <T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> => {
    const client = await connect();
    let isLost = false;
    try {
      return await work(client);
    } catch (error) {
      isLost = error instanceof AppError && error.code === "database.unavailable";
      throw error;
    } finally {
      client.release(isLost);
    }
  };
  return {
    async query(statement) {
      refuseBadParameters(statement);
      return await withClient(async (client) => (await send(client, statement)).rows);
    },
    tx: (fn) =>
      withClient(async (client) => {
        await send(client, { text: "begin", values: [] });
        return await runTransaction(client, fn, { commit: "commit", rollback: "rollback" });
      }),
    close: () => (closed ??= pool.end()),
  };
}

interface Ending {
  readonly commit: string;
  readonly rollback: string;
}

async function runTransaction<T>(
  client: pg.ClientBase,
  fn: (tx: Db) => Promise<T>,
  ending: Ending,
  depth = 1,
): Promise<T> {
  let state: "open" | "nested" | "ended" = "open";
  let last: Promise<unknown> = Promise.resolve();
  const refuseUnlessOpen = () => {
    if (state === "nested") throw new Error("this transaction waits for the one inside it: use the inner handle");
    if (state === "ended") throw new Error("this transaction has ended");
  };
  // pg wants one statement at a time on a connection; callers may ask for several at once.
  const inTurn = <R>(work: () => Promise<R>): Promise<R> => {
    const turn = last.then(work);
    last = turn.catch(() => undefined);
    return turn;
  };
  const tx: Db = {
    async query(statement) {
      refuseUnlessOpen();
      refuseBadParameters(statement);
      return (await inTurn(() => send(client, statement))).rows;
    },
    async tx(inner) {
      refuseUnlessOpen();
      state = "nested";
      const name = `s${depth}`;
      try {
        await inTurn(() => send(client, { text: `savepoint ${name}`, values: [] }));
        return await runTransaction(
          client,
          inner,
          { commit: `release savepoint ${name}`, rollback: `rollback to savepoint ${name}` },
          depth + 1,
        );
      } finally {
        if (state === "nested") state = "open";
      }
    },
    close: () => Promise.reject(new Error("a transaction cannot close the database")),
  };
  try {
    const result = await fn(tx);
    await last;
    state = "ended";
    const { command } = await send(client, { text: ending.commit, values: [] });
    // Postgres answers `commit` with ROLLBACK when a statement had failed and nobody looked.
    if (command === "ROLLBACK") throw new Error("a statement failed, so this transaction could not commit");
    return result;
  } catch (error) {
    state = "ended";
    await last;
    // A rollback fails only with its connection, and then the server rolls back by itself.
    await send(client, { text: ending.rollback, values: [] }).catch(() => undefined);
    throw error;
  }
}

/** By callback: the promises that `pg` makes keep each statement and its rows alive until the whole heap is collected. */
const ask = (client: pg.ClientBase, config: pg.QueryConfig): Promise<pg.QueryResult<Row>> =>
  new Promise((resolve, reject) => {
    client.query<Row>(config, (error: Error | null, result) => {
      if (error === null || error === undefined) resolve(result);
      else reject(toAppError(error));
    });
  });

async function send(client: pg.ClientBase, { text, values, name }: Statement): Promise<pg.QueryResult<Row>> {
  const result = await ask(
    client,
    name === undefined ? { text, values: [...values] } : { text, values: [...values], name },
  );
  // A text of several statements (a migration) gives a list; the last one speaks for it.
  return Array.isArray(result) ? ((result as readonly pg.QueryResult<Row>[]).at(-1) ?? result) : result;
}

function refuseBadParameters(statement: Statement): void {
  for (const value of statement.values) {
    const complaint = parameterComplaint(value);
    if (complaint !== undefined) throw new TypeError(`${complaint}: ${statement.text.trim().slice(0, 80)}`);
  }
}

class QuickToGiveUp extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(typeof config === "object" ? { ...config, connectionTimeoutMillis: CONNECT_TIMEOUT_MS } : config);
  }
}

// Connection exceptions, shutdown, crash, start-up, too many connections.
const UNAVAILABLE = /^(?:08...|57P0[123]|53300)$/;

function toAppError(error: unknown): unknown {
  if (error instanceof pg.DatabaseError) {
    if (UNAVAILABLE.test(error.code ?? "")) return new AppError("database.unavailable", undefined, { cause: error });
    if (error.code === "53100") return new AppError("data_dir.full", error.message, { cause: error });
    return error;
  }
  // These come from our own parsers. All else that is not the server's word is the connection's.
  if (error instanceof RangeError || error instanceof TypeError) return error;
  return new AppError("database.unavailable", undefined, { cause: error });
}

const { builtins } = pg.types;
// pg's types list no arrays.
const INT8_ARRAY = 1016 as typeof builtins.INT8;

function getTypeParser(oid: number, format?: "text" | "binary"): (text: string) => unknown {
  switch (oid) {
    case builtins.INT8:
      return parseInt8;
    case INT8_ARRAY as number:
      return parseInt8Array;
    // As Date these would depend on the time zone of this process.
    case builtins.DATE:
    case builtins.TIMESTAMP:
      return String;
    default:
      return pg.types.getTypeParser(oid, format ?? "text") as (text: string) => unknown;
  }
}

function parseInt8(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`int8 ${text} is not a safe integer`);
  return value;
}

const parseTextArray = pg.types.getTypeParser(INT8_ARRAY, "text") as (text: string) => readonly (string | null)[];

function parseInt8Array(text: string): readonly (number | null)[] {
  return parseTextArray(text).map((item) => (item === null ? null : parseInt8(String(item))));
}
