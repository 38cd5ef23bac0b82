import { chmod, lstat, mkdir, mkdtemp, readFile, readdir, readlink, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ensureShownEtc } from "./shown-etc.ts";

test("what sandboxes see of /etc follows the host: changed, new and gone, and never what only root may read", async () => {
  const folder = await mkdtemp(join(tmpdir(), "drover-etc-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const [host, shown] = [join(folder, "host"), join(folder, "shown")];
  await mkdir(join(host, "ssl/certs"), { recursive: true });
  await mkdir(shown);
  await writeFile(join(shown, "passwd"), "ours");
  await writeFile(join(host, "hosts"), "127.0.0.1 localhost\n");
  await writeFile(join(host, "ssl/certs/trusted.pem"), "trusted");
  await writeFile(join(host, "ssl/certs/distrusted.pem"), "distrusted");
  await writeFile(join(host, "ssl/private.key"), "secret", { mode: 0o600 });
  await writeFile(join(host, "shadow"), "secret");
  await symlink("/usr/share/zoneinfo/UTC", join(host, "localtime"));
  await ensureShownEtc(shown, host);
  expect((await readdir(shown, { recursive: true })).toSorted()).toEqual([
    "hosts",
    "localtime",
    "passwd",
    "ssl",
    "ssl/certs",
    "ssl/certs/distrusted.pem",
    "ssl/certs/trusted.pem",
  ]);
  expect(await readlink(join(shown, "localtime"))).toBe("/usr/share/zoneinfo/UTC");

  await writeFile(join(host, "hosts"), "127.0.0.1 localhost another\n");
  await rm(join(host, "ssl/certs/distrusted.pem"));
  await writeFile(join(host, "ssl/certs/new.pem"), "new");
  await chmod(join(host, "ssl/certs/trusted.pem"), 0o600);
  await rm(join(host, "localtime"));
  await ensureShownEtc(shown, host);
  expect(await readFile(join(shown, "hosts"), "utf8")).toBe("127.0.0.1 localhost another\n");
  expect((await readdir(join(shown, "ssl/certs"))).toSorted()).toEqual(["new.pem"]);
  await expect(lstat(join(shown, "localtime"))).rejects.toThrow("ENOENT");
  expect(await readFile(join(shown, "passwd"), "utf8")).toBe("ours");
});
