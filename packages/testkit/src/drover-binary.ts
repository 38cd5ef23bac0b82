/** The command as people run it: the real binary in a process of its own, until it ends. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { ADMIN_TOKEN, type TestServer } from "./server.ts";

const MAIN = join(import.meta.dirname, "../../cli/src/main.ts");
/** Ends what hangs; nothing waits for it otherwise. */
const LIMIT_MS = 100_000;
export const COLUMNS = 80;

export interface Ran {
  readonly code: number | string | null;
  readonly out: string;
  readonly err: string;
}

/** As the admin of the server, on a terminal of 80 columns that nobody types into. */
export const runBinary = (server: Pick<TestServer, "url">, ...argv: readonly string[]) =>
  new Promise<Ran>((done) => {
    const env = { ...process.env, COLUMNS: String(COLUMNS), DROVER_URL: server.url, DROVER_TOKEN: ADMIN_TOKEN };
    const child = execFile(process.execPath, [MAIN, ...argv], { env, timeout: LIMIT_MS }, (error, out, err) =>
      done({ code: error === null ? 0 : (error.code ?? null), out, err }),
    );
    child.stdin?.end();
  });
