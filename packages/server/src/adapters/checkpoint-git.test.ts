import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import type { SandboxId } from "@drover/contract";
import { expect, test } from "vitest";
import { openGitCheckpoints } from "./checkpoint-git.ts";

const ID = "drover-00000000-000000" as SandboxId;

test("whoever hangs up while a pack is taken in ends that, and not the process", async () => {
  const root = await mkdtemp(join(tmpdir(), "drover-checkpoints-"));
  const store = openGitCheckpoints(root);
  const hangUp = new AbortController();
  const pack = "0".repeat(64);
  const open = async () => {
    hangUp.abort();
    return { size: 10, bytes: new PassThrough() };
  };
  await expect(store.ensure(ID, [pack], open, hangUp.signal)).rejects.toThrow();
  // The next one begins anew.
  const broken = async () => ({ size: 3, bytes: new PassThrough().end("no!") });
  await expect(store.ensure(ID, [pack], broken, new AbortController().signal)).rejects.toMatchObject({
    code: "checkpoint.unreadable",
  });
  await rm(root, { recursive: true, force: true });
});
