import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import type { ArtifactId } from "@drover/contract";
import { afterAll, expect, test } from "vitest";
import { describeBlobs } from "../../../testkit/src/conformance/blob.ts";
import { openDiskBlobs } from "./blob-disk.ts";

const roots: string[] = [];

async function makeRoot(): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), "drover-blobs-"));
  roots.push(root);
  return root;
}

afterAll(async () => {
  for (const root of roots) await rm(root, { recursive: true, force: true });
});

describeBlobs("blob-disk", async () => {
  const root = join(await makeRoot(), "blobs");
  const list = () => readdir(root, { recursive: true, withFileTypes: true });
  return { store: openDiskBlobs(root), count: async () => (await list()).filter((entry) => entry.isFile()).length };
});

test("a place that cannot be written is blob.unavailable", async () => {
  const store = openDiskBlobs("/dev/null/nowhere");
  await expect(store.put("0".repeat(64) as ArtifactId, Readable.from([]), 1)).rejects.toMatchObject({
    code: "blob.unavailable",
  });
});

test("artifacts are for the server's own eyes", async () => {
  const root = await makeRoot();
  const id = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" as ArtifactId;
  await openDiskBlobs(join(root, "blobs")).put(id, Readable.from([]), 1);
  expect((await stat(join(root, "blobs", id.slice(0, 2), id))).mode & 0o077).toBe(0);
});
