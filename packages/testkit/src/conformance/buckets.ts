/** What all `Buckets` must do: count each key of each kind by its rule, and give back. */
import { describe, expect, test } from "vitest";
import type { BucketKind, Buckets } from "../../../server/src/ports/buckets.ts";

/** So slow that nothing refills while a test runs. */
export const slowKind = (name: string, burst: number): BucketKind => ({ name, perSecond: burst / 86_400, burst });

export async function takeUntilRefused(buckets: Buckets, kind: BucketKind, key: string): Promise<number> {
  for (let taken = 0; taken <= kind.burst; taken += 1) if (!(await buckets.take(kind, key, 1)).ok) return taken;
  throw new Error("nothing was refused");
}

export function describeBuckets(name: string, open: () => Promise<Buckets>): void {
  describe(`Buckets: ${name}`, () => {
    test("a key has its burst, another key and another kind theirs", async () => {
      const buckets = await open();
      const kind = slowKind("one", 5);
      expect(await takeUntilRefused(buckets, kind, "a")).toBe(5);
      expect(await takeUntilRefused(buckets, kind, "b")).toBe(5);
      expect(await takeUntilRefused(buckets, slowKind("two", 3), "a")).toBe(3);
      await buckets.close();
    });

    test("all or none: a refusal takes nothing and says how long to wait", async () => {
      const buckets = await open();
      const kind = { name: "whole", perSecond: 0.01, burst: 10 };
      expect((await buckets.take(kind, "a", 8)).ok).toBe(true);
      expect(await buckets.take(kind, "a", 5)).toMatchObject({ ok: false, retryAfterSeconds: 300 });
      expect((await buckets.take(kind, "a", 2)).ok).toBe(true);
      await buckets.close();
    });

    test("what is given back can be taken again, and no more than the burst", async () => {
      const buckets = await open();
      const kind = slowKind("back", 2);
      expect(await takeUntilRefused(buckets, kind, "a")).toBe(2);
      await buckets.take(kind, "a", -1);
      expect(await takeUntilRefused(buckets, kind, "a")).toBe(1);
      await buckets.take(kind, "a", -50);
      expect(await takeUntilRefused(buckets, kind, "a")).toBe(2);
      await buckets.close();
    });

    test("more than the burst is granted when it is full, and refused until it has been paid for", async () => {
      const buckets = await open();
      const kind = { name: "large", perSecond: 1, burst: 10 };
      expect((await buckets.take(kind, "a", 100)).ok).toBe(true);
      // Nearly a hundred seconds, less what refilled meanwhile.
      const refused = { ok: false, retryAfterSeconds: expect.toSatisfy((seconds: number) => seconds > 80) };
      expect(await buckets.take(kind, "a", 1)).toMatchObject(refused);
      await buckets.close();
    });

    test("what was taken refills with time", async () => {
      const buckets = await open();
      const kind = { name: "quick", perSecond: 50, burst: 5 };
      expect((await buckets.take(kind, "a", 5)).ok).toBe(true);
      await expect.poll(async () => (await buckets.take(kind, "a", 5)).ok, { timeout: 20_000 }).toBe(true);
      await buckets.close();
    });
  });
}
