/** The doctor tells what works, what does not, and one thing to do about each failure. */
import { mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@drover/client";
import { resolveConfig } from "@drover/server/config";
import { describe, expect, test } from "vitest";
import { test as withServer } from "../../../testkit/src/local-sandbox.ts";
import { toTrial } from "../../test/terminal-double.ts";
import { ensureCredentials } from "../credentials-file.ts";
import { runCommand } from "../run-command.ts";
import type { Finding } from "./finding.ts";
import { checkBuilt, checkDataDir, checkNode } from "./host-checks.ts";
import { checkPage } from "./page-check.ts";
import { startKubernetes } from "../../../testkit/src/kubernetes/api-server.ts";
import { checkDatabase, checkDaytona, checkEngine, checkKubernetes, checkRedis } from "./service-checks.ts";

const { config } = resolveConfig({});
const EVERY_FIX = /^(Run|Set|Give|Check|Start|Free|Use|Install)\b/;

describe("a look at this machine", () => {
  test("an old Node is broken, the present one is not", () => {
    expect(checkNode("v20.19.0")).toMatchObject({ status: "broken", fix: expect.stringContaining("Node 24") });
    expect(checkNode(process.version)).toMatchObject({ status: "ok" });
  });

  test("a directory that cannot be one is broken; one that can is made and left empty", async () => {
    const folder = mkdtempSync(join(tmpdir(), "drover-doctor-"));
    writeFileSync(join(folder, "file"), "");
    expect(await checkDataDir(join(folder, "file"))).toMatchObject({
      status: "broken",
      fix: expect.stringMatching(EVERY_FIX),
    });
    expect(await checkDataDir(join(folder, "data"))).toMatchObject({ name: "data directory" });
    expect(readdirSync(join(folder, "data"))).toEqual([]);
  });

  test("files that are not built are named", () => {
    expect(checkBuilt(["web/dist/index.html"])).toMatchObject({ status: "broken", fix: "Run: npm run build" });
    expect(checkBuilt([])).toMatchObject({ status: "ok" });
  });
});

describe("a look at other programs", () => {
  const NOBODY = "127.0.0.1:9";

  test("what is not used is passed over, what is used and away is broken", async () => {
    expect(await checkDatabase(config)).toMatchObject({ status: "skipped" });
    expect(await checkRedis(config)).toMatchObject({ status: "skipped" });
    const away = { ...config, databaseUrl: `postgresql://${NOBODY}/none`, dockerHost: "unix:///nowhere/docker.sock" };
    expect(await checkDatabase(away)).toMatchObject({ status: "broken", fix: expect.stringMatching(EVERY_FIX) });
    expect(await checkEngine(away)).toMatchObject({ status: "skipped" });
    expect(await checkEngine({ ...away, provider: "docker" })).toMatchObject({
      status: "broken",
      detail: expect.stringContaining("there is no socket"),
      fix: expect.stringMatching(EVERY_FIX),
    });
  });

  test("a cluster is asked only when it is named, and its refusal has one fix", async () => {
    await using emulator = await startKubernetes({ rules: [] });
    await using open = await startKubernetes();
    const named = { ...config, provider: "kubernetes", kubernetesConfig: emulator.configFile } as const;
    const findings = [
      await checkKubernetes(config),
      await checkKubernetes({ ...config, provider: "kubernetes" }),
      await checkKubernetes({ ...named, kubernetesConfig: "/not/there" }),
      await checkKubernetes(named),
      await checkKubernetes({ ...named, provider: "local" }),
      await checkKubernetes({ ...named, kubernetesConfig: open.configFile }),
    ];
    const wanted = ["skipped", "broken", "broken", "broken", "skipped", "ok"];
    expect(findings.map(({ status }) => status)).toEqual(wanted);
    for (const finding of findings.slice(1, 4)) expect(finding.fix).toMatch(EVERY_FIX);
    expect(findings[3]?.detail).toContain("forbidden");
  });

  test("a key of Daytona is tried, and never shown", async () => {
    const asked: string[] = [];
    const answer =
      (status: number): typeof fetch =>
      async (address, init) => {
        asked.push(`${address as string} ${new Headers(init?.headers).get("authorization")}`);
        return new Response(null, { status });
      };
    const env = { DAYTONA_API_KEY: "dtn_secret", DAYTONA_API_URL: "https://daytona.test/api/" };
    const used = { ...config, daytonaExecution: true };
    const findings = [
      await checkDaytona(config, {}, answer(200)),
      await checkDaytona(used, {}, answer(200)),
      await checkDaytona(used, env, answer(401)),
      await checkDaytona(used, env, answer(200)),
    ];
    expect(findings.map(({ status }) => status)).toEqual(["skipped", "broken", "broken", "ok"]);
    expect(asked[0]).toBe("https://daytona.test/api/sandbox/paginated?limit=1 Bearer dtn_secret");
    expect(JSON.stringify(findings)).not.toContain("dtn_secret");
  });
});

test("a page that is not there, or whose program is not, is broken", async () => {
  const answer =
    (files: Readonly<Record<string, string>>): typeof fetch =>
    async (address) => {
      const found = files[(address as URL).pathname];
      const headers = { "content-type": found?.startsWith("<") === true ? "text/html" : "text/javascript" };
      return found === undefined ? new Response("", { status: 404 }) : new Response(found, { headers });
    };
  const page = '<script type="module" crossorigin src="/assets/main.js"></script>';
  const findings = [
    await checkPage("http://drover.test", answer({ "/": page, "/assets/main.js": "x" })),
    await checkPage("http://drover.test", answer({ "/": page })),
    await checkPage("http://drover.test", answer({ "/": page, "/assets/main.js": "<html>" })),
    await checkPage("http://drover.test", answer({})),
    await checkPage("http://drover.test", () => Promise.reject(new Error("away"))),
  ];
  expect(findings.map(({ status }) => status)).toEqual(["ok", "broken", "broken", "broken", "broken"]);
});

describe("the whole path", { timeout: 180_000 }, () => {
  withServer("is proved at the running server, and nothing is left of it", async ({ server }) => {
    const trial = toTrial({
      createClient,
      env: {},
      wait: async () => void (await server.call("GET", "/sandboxes/health")),
    });
    ensureCredentials(join(trial.context.cwd, ".drover"), { url: server.url, token: server.running.cliToken });
    const code = await runCommand(trial.context, ["doctor", "--json"]);
    const { ok, findings } = JSON.parse(trial.out.join("\n")) as { ok: boolean; findings: readonly Finding[] };
    expect(findings.filter(({ status }) => status === "broken")).toEqual([]);
    expect([code, ok]).toEqual([0, true]);
    expect(findings.filter(({ status }) => status === "ok").map(({ name }) => name)).toEqual(
      expect.arrayContaining(["server", "browser", "sandbox (local)", "dial-back", "limit: isolation", "egress"]),
    );
    const { body } = await server.call("GET", "/sandboxes");
    expect(body.items).toMatchObject([{ labels: { doctor: "true" }, state: "terminated" }]);
  });

  test("a failure is 1, with its fix", async () => {
    const trial = toTrial({ env: { SANDBOX_PROVIDER: "docker", DOCKER_HOST: "unix:///nowhere/docker.sock" } });
    writeFileSync(join(trial.context.cwd, ".drover"), "no directory");
    expect(await runCommand(trial.context, ["doctor"])).toBe(1);
    const text = trial.out.join("\n");
    expect(text).toMatch(/^BROKEN +data directory/m);
    expect(text).toMatch(/^BROKEN +docker/m);
    expect(text.match(/Fix: /g)?.length).toBe(2);
    expect(trial.out.at(-1)).toBe("Something that is needed is broken.");
    expect(Math.max(...trial.out.map((line) => line.length))).toBeLessThanOrEqual(80);
  });
});
