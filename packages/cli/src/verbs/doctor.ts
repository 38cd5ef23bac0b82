/** drover doctor: proves every step between a command and a working sandbox. */
import { mkdtemp, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Config } from "@drover/contract";
import { loadConfigSources, resolveConfig } from "@drover/server/config";
import { takePositionals } from "../arguments.ts";
import { loadCredentials } from "../credentials-file.ts";
import { broken, ok, skipped, toReason, type Finding } from "../doctor/finding.ts";
import {
  checkBubblewrap,
  checkBuilt,
  checkDataDir,
  checkGit,
  checkNamespaces,
  checkNode,
} from "../doctor/host-checks.ts";
import { checkPage } from "../doctor/page-check.ts";
import { checkPath } from "../doctor/path-checks.ts";
import { checkDatabase, checkDaytona, checkEngine, checkKubernetes, checkRedis } from "../doctor/service-checks.ts";
import { EXIT } from "../exit-code.ts";
import { toServerFlags, toServerParams } from "../server-flags.ts";
import { toSafeLine, wrap } from "../terminal.ts";
import type { Context, Verb } from "../verb.ts";

const NAME_WIDTH = 18;

function print(context: Context, { name, status, detail, fix }: Finding): void {
  const { paint } = context;
  const look = { ok: paint.green, warning: paint.yellow, broken: paint.red, skipped: paint.dim }[status];
  const left = `${look(status.toUpperCase().padEnd(8))}${name.padEnd(NAME_WIDTH)}`;
  const room = Math.max(20, context.width - 8 - NAME_WIDTH);
  const [first = "", ...rest] = wrap(toSafeLine(detail), room);
  context.print(`${left}${first}`.trimEnd());
  const margin = " ".repeat(8 + NAME_WIDTH);
  for (const line of rest) context.print(margin + line);
  if (fix !== undefined) for (const line of wrap(`Fix: ${fix}`, room)) context.print(margin + line);
}

/** A server that runs with this data directory; else one made for this, in a directory that is removed. */
async function checkServer(context: Context, config: Config): Promise<readonly Finding[]> {
  const dataDir = resolve(context.cwd, config.dataDir);
  const running = loadCredentials(dataDir);
  if (running !== undefined) {
    const client = context.createClient({ baseUrl: running.url, token: running.token });
    // Expected: it was killed and left its credential behind.
    const isUp = await client.whoami({}, { signal: context.signal, retries: 0 }).then(
      () => true,
      () => false,
    );
    if (isUp)
      return [
        ok("server", `runs at ${running.url}`),
        await checkPage(running.url, globalThis.fetch),
        ...(await checkPath(client, config, context)),
      ];
  }
  return checkTrialServer(context, config, dataDir);
}

async function checkTrialServer(context: Context, config: Config, dataDir: string): Promise<readonly Finding[]> {
  const { openLog, startServer } = await import("@drover/server");
  const folder = await mkdtemp(join(dataDir, "doctor-"));
  try {
    const server = await startServer({
      config: {
        ...config,
        host: "127.0.0.1",
        port: 0,
        dataDir: folder,
        databaseUrl: undefined,
        redisUrl: undefined,
        warmLocal: 0,
        warmDocker: 0,
      },
      log: openLog("silent"),
      signal: context.signal,
    });
    try {
      const client = context.createClient({ baseUrl: server.url, token: server.cliToken });
      const started = ok("server", "starts here with an embedded database (none is running now)");
      const findings = [await checkPage(server.url, globalThis.fetch), ...(await checkPath(client, config, context))];
      await client.pruneSandboxes({ body: { all: true } });
      return [started, ...findings];
    } finally {
      await server.stop();
    }
  } catch (error) {
    // Expected: PostgreSQL cannot be started here, or the port is refused.
    return [
      config.databaseUrl === undefined
        ? broken("server", toReason(error), "Use a PostgreSQL of your own with DATABASE_URL, or another --data-dir.")
        : skipped("server", `not proved, because no embedded database starts here: ${toReason(error)}`),
    ];
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function* examine(context: Context, config: Config): AsyncGenerator<Finding> {
  const { findUnbuilt } = await import("@drover/server");
  const dataDir = await checkDataDir(resolve(context.cwd, config.dataDir));
  const built = checkBuilt(findUnbuilt());
  yield checkNode(process.version);
  yield dataDir;
  yield built;
  yield await checkGit();
  yield await checkDatabase(config);
  yield await checkRedis(config);
  yield await checkBubblewrap(config);
  yield await checkNamespaces(config);
  yield await checkEngine(config);
  yield await checkDaytona(config, context.env, globalThis.fetch);
  yield await checkKubernetes(config);
  if (dataDir.status === "broken" || built.status === "broken")
    yield skipped("server", "not tried before the above is mended");
  else yield* await checkServer(context, config);
}

export const doctor: Verb = {
  name: "doctor",
  summary: "Prove each step from this machine to a working sandbox.",
  usage: "[flags]",
  flags: toServerFlags(),
  details:
    "Makes and removes one sandbox, at the running server or at one that is started for this. One fix for each failure; the exit code is 1 when something needed is broken.",
  async run(context, args) {
    takePositionals(doctor, args, 0, 0);
    const { config } = resolveConfig({
      params: toServerParams(args),
      env: context.env,
      ...loadConfigSources(context.cwd),
    });
    const findings: Finding[] = [];
    for await (const finding of examine(context, config)) {
      findings.push(finding);
      if (!args.has("json")) print(context, finding);
    }
    const isBroken = findings.some(({ status }) => status === "broken");
    if (args.has("json")) context.print(JSON.stringify({ ok: !isBroken, findings }, null, 2));
    else context.print(isBroken ? "Something that is needed is broken." : "Everything that is needed works.");
    return isBroken ? EXIT.failed : EXIT.ok;
  },
};
