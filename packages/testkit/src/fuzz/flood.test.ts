/** Requests that know the contract and break it: none fails, hangs or says a secret. `npm run fuzz` sends a hundred thousand. */
import { expect, test } from "vitest";
import { ADMIN_TOKEN, startTestServer } from "../server.ts";
import { floodWithGarbage } from "./flood.ts";

/** The same one each time: what nobody has sent before is for `npm run fuzz`. */
const seed = Number(process.env.FUZZ_SEED ?? 1);
const requests = Number(process.env.FUZZ_REQUESTS ?? 1_000);

test(`garbage at every endpoint gets an answer below 500 (seed ${seed})`, async () => {
  await using server = await startTestServer({ config: { provider: "daytona" } });
  const report = await floodWithGarbage({ origin: server.url, adminToken: ADMIN_TOKEN, seed, requests, atOnce: 4 });
  expect(report.findings).toEqual([]);
  // A flood that is refused at the door would prove nothing.
  expect(report.byStatus.get(200) ?? 0).toBeGreaterThan(requests / 20);
});
