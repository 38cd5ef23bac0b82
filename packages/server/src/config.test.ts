import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AppError, OPTIONS } from "@drover/contract";
import { describe, expect, test } from "vitest";
import { describeAllowed, loadConfigSources, parseYaml, resolveConfig, type ConfigSources } from "./config.ts";

const complain = (sources: ConfigSources): readonly string[] => {
  try {
    resolveConfig(sources);
  } catch (error) {
    if (error instanceof AppError && error.code === "config.invalid") return error.fields.map((field) => field.message);
    throw error;
  }
  return [];
};

describe("precedence", () => {
  const all: Required<ConfigSources> = {
    params: { port: "1" },
    env: { DROVER_PORT: "2" },
    dotenv: { DROVER_PORT: "3" },
    yaml: { server: { port: 4 } },
  };
  const { params, env, dotenv, yaml } = all;

  test.for([
    [all, 1, { kind: "parameter", name: "--port" }],
    [{ env, dotenv, yaml }, 2, { kind: "environment", name: "DROVER_PORT" }],
    [{ dotenv, yaml }, 3, { kind: ".env", name: "DROVER_PORT" }],
    [{ yaml }, 4, { kind: "drover.yaml", name: "server.port" }],
    [{}, 18_000, { kind: "default", name: "port" }],
    [{ params, yaml }, 1, { kind: "parameter", name: "--port" }],
  ] as const)("%#", ([sources, value, origin]) => {
    const { config, origins } = resolveConfig(sources);
    expect(config.port).toBe(value);
    expect(origins.port).toEqual(origin);
  });

  test("a variable that is set to nothing counts as unset", () => {
    const { config, origins } = resolveConfig({
      env: { DATABASE_URL: "", DROVER_PORT: "" },
      dotenv: { DROVER_PORT: "5" },
    });
    expect(config.databaseUrl).toBeUndefined();
    expect(config.port).toBe(5);
    expect(origins.port.kind).toBe(".env");
  });
});

test("the defaults of every option are valid", () => {
  const { config, origins } = resolveConfig({});
  expect(config).toMatchObject({ host: "127.0.0.1", port: 18_000, dataDir: ".drover", demo: true, logLevel: "info" });
  expect(Object.keys(origins).toSorted()).toEqual(Object.keys(OPTIONS).toSorted());
});

test("values of the file may be numbers, words, switches and lists", () => {
  const yaml = parseYaml(
    "server:\n  demo: no\n  allowed_hosts: [a.example, b.example]\n  host:\nlimits:\n  event_burst: 1e4\n",
  );
  const { config, origins } = resolveConfig({ yaml });
  expect(config).toMatchObject({
    demo: false,
    allowedHosts: "a.example,b.example",
    eventBurst: 10_000,
    host: "127.0.0.1",
  });
  expect(origins.host.kind).toBe("default");
});

describe("a complaint", () => {
  test("about an unknown key names it and the nearest known one", () => {
    expect(complain({ yaml: { server: { prot: 1 }, databse: { url: "x" } } })).toEqual([
      "drover.yaml: server.prot is not a known key; did you mean server.port?",
      "drover.yaml: databse is not a known key; did you mean database.url?",
    ]);
  });

  test("about a value names the option, where it came from and what is allowed", () => {
    expect(complain({ env: { DROVER_PORT: "http" } })).toEqual([
      'DROVER_PORT (environment): "http" is not allowed; give a whole number from 0 to 65535',
    ]);
    expect(complain({ params: { logLevel: "loud" } })).toEqual([
      '--log-level: "loud" is not allowed; give one of trace, debug, info, warn, error, silent',
    ]);
    expect(complain({ yaml: { server: { demo: "perhaps" } } })).toEqual([
      'server.demo (drover.yaml): "perhaps" is not allowed; give true or false',
    ]);
    expect(complain({ params: { port: " " } })).toHaveLength(1);
  });

  test("about a secret does not repeat it", () => {
    for (const token of ["short", "two words", "a line\n", "ümlauts-in-it"])
      expect(complain({ env: { DROVER_ADMIN_TOKEN: token } })).toEqual([
        "DROVER_ADMIN_TOKEN (environment): this value is not allowed; give one word of 8 to 500 printable characters",
      ]);
  });

  test("about the shape of the file says what belongs there", () => {
    expect(complain({ yaml: ["x"] })).toEqual(["drover.yaml must hold sections with keys"]);
    expect(complain({ yaml: { server: 5 } })).toEqual(["drover.yaml: server must be a section with keys below it"]);
    expect(complain({ yaml: { server: { port: { a: 1 } } } })).toEqual([
      "drover.yaml: server.port must be a single value",
    ]);
  });

  test("does not hide the others", () => {
    expect(complain({ env: { DROVER_PORT: "x", DROVER_SESSION_DAYS: "-1" }, yaml: { nothing: 1 } })).toHaveLength(3);
  });
});

test("what an option takes can be said of every option", () => {
  for (const option of Object.values(OPTIONS)) expect(describeAllowed(option)).not.toMatch(/undefined|\[object/);
  expect(describeAllowed(OPTIONS.publicUrl)).toContain("address");
  expect(describeAllowed(OPTIONS.sessionDays)).toBe("a number above 0");
});

describe("files", () => {
  const inDirectory = (files: Readonly<Record<string, string>>) => {
    const cwd = mkdtempSync(join(tmpdir(), "drover-config-"));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text);
    return cwd;
  };

  test("both are optional", () => {
    expect(loadConfigSources(inDirectory({}))).toEqual({ dotenv: {}, yaml: undefined });
  });

  test("both are read", () => {
    const cwd = inDirectory({
      ".env": "# mine\nDROVER_PORT=7\nREDIS_URL='redis://h'\n",
      "drover.yaml": "server: { port: 8, host: '::1' }\n",
    });
    const { config } = resolveConfig(loadConfigSources(cwd));
    expect(config).toMatchObject({ port: 7, host: "::1", redisUrl: "redis://h" });
  });

  test("a file that is not YAML is refused with its line", () => {
    const cwd = inDirectory({ "drover.yaml": "server:\n  port: 1\n  port: 2\n" });
    expect(() => loadConfigSources(cwd)).toThrow(/drover\.yaml: .*unique.*line 3/s);
  });
});
