/** A refusal is a problem with the right status, and leaves everything as it was. */
import { Problem } from "@drover/contract";
import { expect } from "vitest";
import type { Answer } from "../http-call.ts";
import { startTestServer, test as base, type TestServer } from "../server.ts";
import { takeSnapshot } from "../snapshot.ts";
import { buildWorld, type World } from "./world.ts";

export const test = base.extend<{ $file: { server: TestServer; world: World } }>({
  server: [
    async ({}, use) => {
      // Its workers never speak, and nobody shall tell of it or end them meanwhile.
      await using server = await startTestServer({
        config: { deadThresholdSeconds: 86_400, heartbeatIntervalSeconds: 86_400 },
      });
      await use(server);
    },
    { scope: "file" },
  ],
  world: [async ({ server }, use) => use(await buildWorld(server)), { scope: "file" }],
});

/** What is wrong with the refusals of the running test, one sentence each, so that a table shows all of them. */
let complaints: string[] = [];

export function expectProblem(answer: Answer, status: number | readonly number[], what: string): void {
  const problem = Problem.safeParse(answer.body);
  const wrong = [
    ...([status].flat().includes(answer.status)
      ? []
      : [`answers ${answer.status}, not ${[status].flat().join(" or ")}`]),
    ...(/^application\/problem\+json\b/.test(answer.headers["content-type"] ?? "")
      ? []
      : ["is not application/problem+json"]),
    ...(problem.data?.status === answer.status ? [] : ["has another status inside"]),
    ...(problem.data?.request_id === answer.headers["x-request-id"] ? [] : ["has another request id inside"]),
  ];
  if (wrong.length > 0) complaints.push(`${what} ${wrong.join(", ")}: ${answer.text.slice(0, 200)}`);
}

/** Runs the requests and finds everything as it was. */
export async function leavesNoTrace(server: TestServer, requests: () => Promise<void>): Promise<void> {
  complaints = [];
  const before = await takeSnapshot(server);
  await requests();
  expect(complaints).toEqual([]);
  expect(await takeSnapshot(server)).toEqual(before);
}
