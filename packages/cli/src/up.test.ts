import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "@drover/contract";
import { resolveConfig } from "@drover/server/config";
import { describe, expect, test } from "vitest";
import { toTrial } from "../test/terminal-double.ts";
import { resolveConnection } from "./connection.ts";
import { ensureCredentials } from "./credentials-file.ts";
import { parseArguments } from "./arguments.ts";
import { runCommand } from "./run-command.ts";
import { ls } from "./verbs/ls.ts";
import { runServer } from "./verbs/up.ts";

const { config } = resolveConfig({});
const URL_LINE = "drover ready http://127.0.0.1:7";

/** A server that starts at once and notes what is done with it. */
function toServer(credentials: () => unknown) {
  const notes: unknown[] = [];
  const ended = Promise.withResolvers<void>();
  const server = {
    ready: Promise.resolve(true),
    url: "http://127.0.0.1:7",
    loginUrl: "http://127.0.0.1:7/login#once",
    cliToken: "drv_u_cli",
    done: ended.promise,
    stop: async () => void notes.push({ stopped: credentials() }),
  };
  return { server, notes, end: ended.resolve };
}

describe("up", () => {
  test("says when it is ready, leaves a credential while it runs, and stops cleanly", async () => {
    const stop = new AbortController();
    const trial = toTrial({
      signal: stop.signal,
      print: (lines) => void (trial.out.push(lines), check()),
    });
    const file = join(trial.context.cwd, ".drover/cli.json");
    const { server, notes } = toServer(() => existsSync(file));
    const check = () => {
      expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({ url: server.url, token: "drv_u_cli" });
      expect(statSync(file).mode & 0o777).toBe(0o600);
      stop.abort();
    };
    expect(await runServer(trial.context, config, async () => server)).toBe(0);
    expect(trial.out).toEqual([`${URL_LINE}\nlog in once at http://127.0.0.1:7/login#once`]);
    expect(notes).toEqual([{ stopped: false }]);
  });

  test("says it as JSON where that is asked for", async () => {
    const { context, out } = toTrial({ signal: AbortSignal.abort() });
    const { server } = toServer(() => undefined);
    expect(await runServer(context, config, async () => server, true)).toBe(0);
    expect(out.map((line) => JSON.parse(line))).toEqual([{ url: server.url, login_url: server.loginUrl }]);
  });

  test("says nothing while the server is not ready, and stops all the same", async () => {
    const stop = new AbortController();
    const trial = toTrial({ signal: stop.signal });
    const { server, notes } = toServer(() => undefined);
    const running = runServer(trial.context, config, async () => ({
      ...server,
      ready: new Promise<boolean>(() => undefined),
    }));
    await Promise.resolve();
    stop.abort();
    expect(await running).toBe(0);
    expect([trial.out, notes.length]).toEqual([[], 1]);
  });

  test("a server that ends by itself is a failure", async () => {
    const { context, err } = toTrial();
    const { server, end } = toServer(() => undefined);
    end();
    expect(await runServer(context, config, async () => server)).toBe(1);
    expect(err.join()).toContain("ended by itself");
  });

  test("a stop during the start is no failure, a refusal is", async () => {
    const refusal = async () => {
      throw new AppError("data_dir.in_use");
    };
    await expect(runServer(toTrial().context, config, refusal)).rejects.toThrow(AppError);
    expect(await runServer(toTrial({ signal: AbortSignal.abort() }).context, config, refusal)).toBe(0);
  });

  test("a wrong setting is one clear message", async () => {
    const { context, err } = toTrial({ env: {} });
    expect(await runCommand(context, ["up", "--port", "http"])).toBe(1);
    expect(err).toEqual([
      'drover: --port: "http" is not allowed; give a whole number from 0 to 65535.\n`drover config` shows every setting and where it comes from.',
    ]);
  });
});

describe("config", () => {
  test("tells values with their origins, and no secret", async () => {
    const env = { DROVER_ADMIN_TOKEN: "drv_u_hidden", DROVER_PORT: "9" };
    const { context, out } = toTrial({ env });
    writeFileSync(join(context.cwd, "drover.yaml"), "server: { host: localhost }\n");
    expect(await runCommand(context, ["config", "--log-level", "warn"])).toBe(0);
    const text = out.join("\n");
    expect(text).toMatch(/^port +9 +environment DROVER_PORT$/m);
    expect(text).toMatch(/^host +localhost +drover\.yaml server\.host$/m);
    expect(text).toMatch(/^logLevel +warn +--log-level$/m);
    expect(text).toMatch(/^adminToken +\*\*\* +environment DROVER_ADMIN_TOKEN$/m);
    expect(text).toMatch(/^redisUrl +- +unset$/m);
    expect(Math.max(...out.map((line) => line.length))).toBeLessThanOrEqual(80);
    expect(await runCommand(context, ["config", "--json"])).toBe(0);
    expect(out.join("\n")).not.toContain("drv_u_hidden");
  });
});

test("a direct run takes its settings from where a server takes them", async () => {
  const { context, err } = toTrial({ env: { WORKSPACE_REMOTE_HOST: "http://127.0.0.1:1" } });
  writeFileSync(join(context.cwd, "drover.yaml"), "workspace: { mode: remote }\n");
  expect(await runCommand(context, ["run", "--direct", "x"])).toBe(2);
  expect(err.join()).toContain("--mode remote needs --model");
});

describe("a connection", () => {
  const local = { url: "http://127.0.0.1:7", token: "drv_u_local" };
  const find = (env: Readonly<Record<string, string>>, argv: readonly string[] = [], hasLocal = true) => {
    const { context } = toTrial({ env });
    if (hasLocal) ensureCredentials(join(context.cwd, ".drover"), local);
    writeFileSync(join(context.cwd, "token"), "drv_u_file\n");
    return resolveConnection(context, parseArguments(ls, argv));
  };

  test("comes from flags, else the environment, else the local server", () => {
    const env = { DROVER_URL: "http://env", DROVER_TOKEN: "drv_u_env" };
    expect(find(env, ["--url", "http://flag/", "--token-file", "token"])).toEqual({
      url: "http://flag",
      token: "drv_u_file",
    });
    expect(find(env)).toEqual({ url: "http://env", token: "drv_u_env" });
    expect(find({})).toEqual(local);
    expect(find({ DROVER_TOKEN: "drv_u_env" })).toEqual({ url: local.url, token: "drv_u_env" });
  });

  test("does not show the local server's token to another address", () => {
    expect(find({ DROVER_URL: "http://elsewhere" })).toEqual({ url: "http://elsewhere", token: undefined });
    expect(find({ DROVER_URL: "http://127.0.0.1:7/" })).toEqual(local);
  });

  test("is refused when it is no address, or its token cannot be read", () => {
    expect(() => find({ DROVER_URL: "localhost:18000" })).toThrow(/write http:\/\/host:port/);
    expect(() => find({}, ["--token-file", "gone"])).toThrow(/--token-file gone cannot be read/);
    expect(() => find({}, [], false)).toThrow(/drover up/);
  });
});
