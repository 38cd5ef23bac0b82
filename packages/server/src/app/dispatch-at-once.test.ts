/** Nobody waits for a look that comes by itself, nor for somebody else's start. */
import { expect, test, vi } from "vitest";
import { startTestServer } from "../../../testkit/src/server.ts";
import { after, becomes, createWork, finish } from "../../../testkit/src/work.ts";
import { systemClock } from "../adapters/clock-system.ts";
import type { Deps } from "./deps.ts";
import { dispatchTasksOnce } from "./dispatch-tasks.ts";

vi.setConfig({ testTimeout: 120_000 });

test("events start, follow and end work, though no loop looks by itself", async () => {
  const HOUR_MS = 3_600_000;
  const clock = { ...systemClock, sleep: (_ms: number, signal: AbortSignal) => systemClock.sleep(HOUR_MS, signal) };
  await using server = await startTestServer({ clock });
  const work = await createWork(server, { branches_enabled: false });
  const first = await work.add("first");
  const second = await work.add("second", after(first));
  const doomed = await work.add("doomed", after(second));
  await finish(server, first);
  await becomes(server, second, "assigned");
  await server.call("POST", `/tasks/${second.id}/fail`);
  await becomes(server, doomed, "blocked");
});

test("as many as are allowed are prepared at once, and no more", async () => {
  await using server = await startTestServer({ config: { orchestratorEnabled: false, maxParallelSpawns: 3 } });
  const work = await createWork(server, { provider: "local", branches_enabled: false, max_concurrent_tasks: 10 });
  for (let number = 0; number < 6; number += 1) await work.add(`task ${number}`);
  const { deps } = server;
  let [waiting, most] = [0, 0];
  let all = Promise.withResolvers<void>();
  // A provider that opens for three, so that whoever came one after the other would wait for ever.
  const open: Deps["providers"]["open"] = async (name) => {
    waiting += 1;
    most = Math.max(most, waiting);
    if (waiting % 3 === 0) {
      all.resolve();
      all = Promise.withResolvers();
    } else await all.promise;
    waiting -= 1;
    return deps.providers.open(name);
  };
  const { signal } = new AbortController();
  const slow = { ...deps, providers: { ...deps.providers, open } };
  expect(await dispatchTasksOnce(slow, signal)).toEqual({ started: 6 });
  expect(most).toBe(3);
});
