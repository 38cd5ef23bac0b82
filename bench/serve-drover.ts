/** The real server as a child of a benchmark, with settings from its environment and a heap like the command's. */
import { boundYoungGeneration, holdYoungGeneration } from "../packages/cli/src/young-generation.ts";
import type { RunningServer } from "../packages/server/src/index.ts";
import { answer } from "./child.ts";

let running: RunningServer | undefined;

answer(
  {
    start: async () => {
      holdYoungGeneration();
      const { openLog, startServer } = await import("../packages/server/src/index.ts");
      const { resolveConfig } = await import("../packages/server/src/config.ts");
      boundYoungGeneration();
      const { config } = resolveConfig({ env: process.env });
      running = await startServer({ config, log: openLog(config.logLevel), signal: new AbortController().signal });
      return { url: running.url, token: running.cliToken };
    },
    memory: () => process.memoryUsage(),
    cpu: () => process.cpuUsage(),
  },
  async () => running?.stop(),
);
