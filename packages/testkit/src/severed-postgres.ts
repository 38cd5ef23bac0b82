/** A way to the run's PostgreSQL that a test may cut and mend; the database itself stays as it is. */
import { mkdtemp, rm } from "node:fs/promises";
import { createConnection, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const SOCKET = ".s.PGSQL.5432";

export interface SeverablePostgres extends AsyncDisposable {
  readonly url: string;
  /** Ends every connection and takes no new ones. */
  cut(): Promise<void>;
  mend(): Promise<void>;
}

export async function openSeverablePostgres(url: string): Promise<SeverablePostgres> {
  const target = join(decodeURIComponent(/[?&]host=([^&]+)/.exec(url)?.[1] ?? ""), SOCKET);
  const dir = await mkdtemp(join(tmpdir(), "drover-way-"));
  const path = join(dir, SOCKET);
  const open = new Set<Socket>();
  const server = createServer((near) => {
    const far = createConnection(target);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one);
      one.on("error", () => undefined);
      one.once("close", () => {
        open.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  });
  const mend = () => new Promise<void>((resolve) => void server.listen(path, resolve));
  const cut = async () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const socket of open) socket.destroy();
    await closed;
  };
  await mend();
  return {
    url: url.replace(/([?&]host=)[^&]+/, `$1${encodeURIComponent(dir)}`),
    cut,
    mend,
    [Symbol.asyncDispose]: async () => {
      if (server.listening) await cut();
      await rm(dir, { recursive: true, force: true });
    },
  };
}
