/** Broken on purpose, each seen here: work that begins at once; work that nobody's waiting begins; a failure that whoever waits gets. */
import { expect, test } from "vitest";
import { createLater } from "./later.ts";

const FOR_EVER_MS = 2 ** 31 - 1;

test("work begins when somebody waits for it, and whoever waits is told of its end and not of its failure", async () => {
  const later = createLater(FOR_EVER_MS);
  const begun: string[] = [];
  const done = later.do(async () => begun.push("one"));
  const failed = later.do(async () => Promise.reject(new Error("two failed")));
  const reason = failed.catch((error: Error) => error.message);
  await new Promise((resolve) => setImmediate(resolve));
  expect(begun).toEqual([]);
  await later.all();
  expect(begun).toEqual(["one"]);
  expect(await Promise.all([done, reason])).toEqual([1, "two failed"]);
});

test("nobody waits, and it begins after the head start all the same", async () => {
  expect(await createLater(1).do(async () => "done")).toBe("done");
});
