/** What starts tasks, as a process of its own that can be killed: claims, makes sandbox rows, releases stale claims. */
import { openMemoryBus } from "../../../server/src/adapters/bus-memory.ts";
import { systemClock } from "../../../server/src/adapters/clock-system.ts";
import { openPostgres } from "../../../server/src/adapters/db-postgres.ts";
import { randomIds } from "../../../server/src/adapters/ids-random.ts";
import type { Deps } from "../../../server/src/app/deps.ts";
import { dispatchTasksOnce } from "../../../server/src/app/dispatch-tasks.ts";
import { tendTasksOnce } from "../../../server/src/app/tend-tasks.ts";
import { resolveConfig } from "../../../server/src/config.ts";
import { silentLog } from "../silent-log.ts";

const [url = "", instance = ""] = process.argv.slice(2);
const resource = { value: 1, origin: "default" };
const config = { ...resolveConfig({}).config, maxConcurrentTasks: 100_000, maxParallelSpawns: 8 };
// Only what the two passes use where the provider is `external` and the project does without branches.
const deps = {
  db: openPostgres({ url, maxConnections: 4 }),
  bus: openMemoryBus(),
  clock: systemClock,
  ids: randomIds,
  tail: { feed: () => undefined },
  fault: () => undefined,
  config,
  log: silentLog,
  instance,
  resources: { memory_gb: resource, cpu: resource, disk_gb: resource },
  wake: () => undefined,
} as unknown as Deps;

const { signal } = new AbortController();
process.send?.("ready");
for (;;) {
  await tendTasksOnce(deps);
  const { started } = await dispatchTasksOnce(deps, signal);
  if (started === 0) await systemClock.sleep(50, signal);
}
