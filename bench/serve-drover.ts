/** The real server as a child of a benchmark, with settings from its environment. */
import { openLog, startServer, type RunningServer } from "../packages/server/src/index.ts";
import { resolveConfig } from "../packages/server/src/config.ts";
import { answer } from "./child.ts";

let running: RunningServer | undefined;

answer(
  {
    start: async () => {
      const { config } = resolveConfig({ env: process.env });
      running = await startServer({ config, log: openLog(config.logLevel), signal: new AbortController().signal });
      return { url: running.url, token: running.cliToken };
    },
    memory: () => process.memoryUsage(),
    cpu: () => process.cpuUsage(),
  },
  async () => running?.stop(),
);
