/** What every `BlobStore` must do. */
import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import type { ArtifactId } from "@drover/contract";
import { describe, expect, test } from "vitest";
import type { BlobStore } from "../../../server/src/ports/blob.ts";

const LIMIT = 1_000_000;
const addressOf = (bytes: string | Uint8Array) => createHash("sha256").update(bytes).digest("hex") as ArtifactId;
const chunks = (...parts: readonly (string | Uint8Array)[]) => Readable.from(parts.map((part) => Buffer.from(part)));

/** `open` gives a store, `count` says how many things it keeps, half-written ones too. */
export function describeBlobs(
  name: string,
  open: () => Promise<{ store: BlobStore; count: () => Promise<number> }>,
): void {
  describe(`BlobStore: ${name}`, () => {
    const read = async (store: BlobStore, id: ArtifactId) => {
      const found = await store.open(id);
      return found === undefined ? undefined : { size: found.size, bytes: await buffer(found.bytes) };
    };

    test("bytes come back as they were put, also none and many", async () => {
      const { store } = await open();
      for (const bytes of [Buffer.alloc(0), Buffer.from([0, 1, 255]), Buffer.alloc(300_000, "x")]) {
        expect(await store.put(addressOf(bytes), chunks(bytes.subarray(0, 10), bytes.subarray(10)), LIMIT)).toEqual({
          size: bytes.length,
        });
        expect(await read(store, addressOf(bytes))).toEqual({ size: bytes.length, bytes });
      }
    });

    test("what was never put is not there", async () => {
      expect(await (await open()).store.open(addressOf("never"))).toBeUndefined();
    });

    test("putting twice, also at once, equals putting once", async () => {
      const { store, count } = await open();
      await Promise.all(Array.from({ length: 5 }, () => store.put(addressOf("same"), chunks("sa", "me"), LIMIT)));
      expect(await count()).toBe(1);
      expect((await read(store, addressOf("same")))?.bytes.toString()).toBe("same");
    });

    test("bytes of another address, too many, or cut off are refused and leave nothing", async () => {
      const { store, count } = await open();
      const id = addressOf("right");
      await expect(store.put(id, chunks("wrong"), LIMIT)).rejects.toMatchObject({ code: "artifact.mismatch" });
      await expect(store.put(id, chunks("right"), 4)).rejects.toMatchObject({ code: "request.too_large" });
      const broken = Readable.from(
        (async function* () {
          yield Buffer.from("rig");
          throw new Error("the caller hung up");
        })(),
      );
      await expect(store.put(id, broken, LIMIT)).rejects.toMatchObject({ code: "blob.unavailable" });
      expect(await count()).toBe(0);
      expect(await store.open(id)).toBeUndefined();
      expect(await store.put(id, chunks("right"), 5)).toEqual({ size: 5 });
    });

    test("a wrong one does not harm a right one", async () => {
      const { store } = await open();
      const id = addressOf("right");
      await store.put(id, chunks("right"), LIMIT);
      await expect(store.put(id, chunks("wrong"), LIMIT)).rejects.toMatchObject({ code: "artifact.mismatch" });
      expect((await read(store, id))?.bytes.toString()).toBe("right");
    });
  });
}
