/** drover up: runs the server until it is told to stop. */
import { resolve } from "node:path";
import type { Config } from "@drover/contract";
import type { RunningServer } from "@drover/server";
import { loadConfigSources, resolveConfig } from "@drover/server/config";
import { takePositionals } from "../arguments.ts";
import { ensureCredentials, removeCredentials } from "../credentials-file.ts";
import { EXIT } from "../exit-code.ts";
import { toServerFlags, toServerParams } from "../server-flags.ts";
import type { Context, Verb } from "../verb.ts";

type Started = Pick<RunningServer, "url" | "loginUrl" | "cliToken" | "ready" | "stop" | "done">;

const isOver = (signal: AbortSignal) =>
  new Promise<void>((done) => {
    if (signal.aborted) done();
    else signal.addEventListener("abort", () => done(), { once: true });
  });

export async function runServer(
  context: Context,
  config: Config,
  start: (config: Config) => Promise<Started>,
  isJson = false,
): Promise<number> {
  const { signal } = context;
  const dataDir = resolve(context.cwd, config.dataDir);
  const server = await start({ ...config, dataDir }).catch((error: unknown) => {
    // A stop asked for during the start is no failure.
    if (signal.aborted) return undefined;
    throw error;
  });
  if (server === undefined) return EXIT.ok;
  try {
    ensureCredentials(dataDir, { url: server.url, token: server.cliToken });
    const over = Promise.race([isOver(signal), server.done]);
    if (await Promise.race([server.ready, over.then(() => false)])) {
      const lines = [`drover ready ${server.url}`, `log in once at ${server.loginUrl}`];
      // In one piece: who hangs up after the first line does not end a server that has only begun.
      context.print(isJson ? JSON.stringify({ url: server.url, login_url: server.loginUrl }) : lines.join("\n"));
    }
    await over;
  } finally {
    removeCredentials(dataDir, server.cliToken);
    await server.stop();
  }
  if (signal.aborted) return EXIT.ok;
  context.warn("drover: The server ended by itself; its log says why.");
  return EXIT.failed;
}

export const up: Verb = {
  name: "up",
  summary: "Run the server: API, web UI and sandboxes.",
  usage: "[flags]",
  flags: toServerFlags(),
  details:
    "Prints `drover ready <address>` when it serves, then an address that logs a browser in once. Logs go to standard error. SIGTERM or Ctrl-C stops it cleanly; a second one at once. `drover config` shows all settings.",
  async run(context, args) {
    takePositionals(up, args, 0, 0);
    const { config, origins } = resolveConfig({
      params: toServerParams(args),
      env: context.env,
      ...loadConfigSources(context.cwd),
    });
    const { openLog, parseFault, startServer } = await import("@drover/server");
    const log = openLog(config.logLevel);
    const fault = parseFault(context.env["DROVER_FAULT"], () => process.kill(process.pid, "SIGKILL"));
    const start = (resolved: Config) => startServer({ config: resolved, origins, log, signal: context.signal, fault });
    return runServer(context, config, start, args.has("json"));
  },
};
