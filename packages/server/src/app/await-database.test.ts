/** Broken on purpose, each seen here: nothing is waited for; what is wrong with the statement is waited for, too; it is waited for ever. */
import { AppError } from "@drover/contract";
import { expect, test } from "vitest";
import { silentLog } from "../../../testkit/src/silent-log.ts";
import type { Clock } from "../ports/clock.ts";
import { awaitDatabase } from "./await-database.ts";

const { signal } = new AbortController();

/** Each sleep is over at once, and its time has passed. */
function openTime() {
  let nowMs = 0;
  const clock: Clock = {
    now: () => new Date(nowMs),
    sleep: async (ms) => {
      nowMs += ms;
    },
  };
  return { clock, log: silentLog, seconds: 5 };
}

const failing = (times: number, code: "database.unavailable" | "migration.newer") => {
  let asked = 0;
  const work = async () => {
    asked += 1;
    if (asked <= times) throw new AppError(code);
    return asked;
  };
  return { work, asked: () => asked };
};

test("a database that comes up late is used, one that does not is not waited for for ever", async () => {
  expect(await awaitDatabase(failing(3, "database.unavailable").work, openTime(), signal)).toBe(4);
  const away = failing(1_000, "database.unavailable");
  await expect(awaitDatabase(away.work, openTime(), signal)).rejects.toMatchObject({ code: "database.unavailable" });
  expect(away.asked()).toBe(6);
});

test("what waiting does not mend is told at once, and whoever stops the server does not wait", async () => {
  const newer = failing(1_000, "migration.newer");
  await expect(awaitDatabase(newer.work, openTime(), signal)).rejects.toMatchObject({ code: "migration.newer" });
  const away = failing(1_000, "database.unavailable");
  await expect(awaitDatabase(away.work, openTime(), AbortSignal.abort())).rejects.toMatchObject({
    code: "database.unavailable",
  });
  expect([newer.asked(), away.asked()]).toEqual([1, 1]);
});
