/** What only root can make for a test: a small disk, and data of another owner. */
import { execFileSync } from "node:child_process";
import { readdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, vi } from "vitest";
import { copyCluster, isRunning, test } from "../../../testkit/src/embedded-postgres.ts";
import { sql } from "../store/sql.ts";

const MIB = 1024 * 1024;
const isRoot = process.getuid?.() === 0;
const canMount = isRoot && isPermitted("unshare", ["--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]);

/** Puts a small disk of its own on `dir`. */
function mountDisk(dir: string, options: string): Disposable {
  execFileSync("mount", ["-t", "tmpfs", "-o", `mode=0700,${options}`, "tmpfs", dir]);
  return { [Symbol.dispose]: () => void execFileSync("umount", ["--lazy", dir]) };
}

function isPermitted(command: string, args: readonly string[]): boolean {
  try {
    execFileSync(command, args, { stdio: "ignore" });
    return true;
  } catch {
    // Not in this container.
    return false;
  }
}

describe.skipIf(!canMount)("a full disk", () => {
  test("is refused before anything is written", async ({ empty, start }) => {
    using _disk = mountDisk(empty, "size=100m");
    const message = expect.stringMatching(/MiB free; PostgreSQL needs 128 MiB.*DROVER_DATA_DIR/) as string;
    await expect(start(empty)).rejects.toMatchObject({ code: "data_dir.full", message });
    expect(await readdir(empty)).toEqual(["lock"]);
  });

  test("that initdb runs into is data_dir.full, and leaves nothing half-made", async ({ empty, start }) => {
    using _disk = mountDisk(empty, "size=300m,nr_inodes=300");
    await expect(start(empty)).rejects.toMatchObject({ code: "data_dir.full" });
    expect(await readdir(empty)).toEqual(["lock"]);
  });

  test("that a statement runs into is an outage with a code, and it works again when there is space", async ({
    empty,
    pristine,
    start,
  }) => {
    using _disk = mountDisk(empty, "size=160m");
    copyCluster(pristine, empty);
    const { db, postgres } = await start(empty, { max_wal_size: "32MB", shared_buffers: "16MB" });
    await db.query(sql`create table things (n int8, filler text)`);
    await db.query(sql`insert into things (n) values (1)`);
    await writeFile(join(empty, "filler"), Buffer.alloc(80 * MIB));
    const fill = sql`insert into things select n, repeat(md5(n::text), 60) from generate_series(2, 100000) as n`;
    // Full while it extends the table, or unavailable when the log itself has no room and PostgreSQL gives up.
    await expect(db.query(fill)).rejects.toMatchObject({
      code: expect.stringMatching(/^(?:data_dir\.full|database\.unavailable)$/) as string,
    });
    await rm(join(empty, "filler"));
    await vi.waitFor(
      async () => {
        await db.query(sql`insert into things (n) values (2)`);
        expect(await db.query(sql`select n from things order by n limit 9`)).toContainEqual({ n: 1 });
      },
      { timeout: 40_000, interval: 50 },
    );
    await vi.waitFor(() => expect(postgres.problem()).toBeUndefined(), { timeout: 40_000 });
  });
});

describe.skipIf(!isRoot)("data of another owner", () => {
  test("stays that owner's: PostgreSQL runs under that account, below a closed directory", async ({ dir, start }) => {
    execFileSync("chown", ["-R", "5432:5432", join(dir, "pg")]);
    const { db, pid, stop } = await start(dir);
    expect(await db.query(sql`select 1 as n`)).toEqual([{ n: 1 }]);
    expect((await stat(`/proc/${pid}`)).uid).toBe(5432);
    expect((await stat(dir)).mode & 0o777).toBe(0o700);
    await stop();
    expect(isRunning(pid)).toBe(false);
  });
});
