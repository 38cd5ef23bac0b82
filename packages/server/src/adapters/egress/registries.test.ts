import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openRegistries } from "./registries.ts";

async function makeRoot(files: Readonly<Record<string, string>>): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), "drover-registries-"));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  return root;
}

test("registries are read from files and variables of npm, pip and apt", async () => {
  const root = await makeRoot({
    "/home/me/.npmrc":
      "; registry=https://commented.test\n@team:registry=https://team.test/npm/\nregistry = https://npm.test:8443/\n//npm.test/:_authToken=secret\n",
    "/etc/pip.conf":
      "[global]\nindex-url = https://name:secret@pip.test/simple\nextra-index-url =\n    https://more.test/simple\n    file:///opt/wheels\n",
    "/etc/apt/sources.list":
      "# deb http://commented.test x main\ndeb [arch=amd64 signed-by=/x] http://apt.test/debian stable main\n",
    "/etc/apt/sources.list.d/a.sources": "Types: deb\nURIs: https://deb822.test/debian http://second.test\nSuites: x\n",
    "/etc/apt/sources.list.d/off.save": "deb http://ignored.test x main\n",
  });
  const asked: string[] = [];
  const registries = openRegistries({
    env: { PIP_EXTRA_INDEX_URL: "https://variable.test/simple", "npm_config_@other:registry": "https://other.test" },
    home: "/home/me",
    root,
    ask: async (program) => (asked.push(program), ""),
  });
  expect((await registries.readAll()).map((url) => new URL(url).host).toSorted()).toEqual(
    [
      "apt.test",
      "deb822.test",
      "more.test",
      "npm.test:8443",
      "other.test",
      "pip.test",
      "second.test",
      "team.test",
      "variable.test",
    ].toSorted(),
  );
  expect(asked).toEqual([]);
  // What holds a password stays outside.
  expect(await registries.readEnv()).toEqual({ npm_config_registry: "https://npm.test:8443/" });
});

test("without a setting the programs are asked, once, for the default that only they know", async () => {
  const asked: string[] = [];
  const registries = openRegistries({
    env: {},
    home: "/home/me",
    root: await makeRoot({}),
    ask: async (program) => {
      asked.push(program);
      return program === "npm"
        ? "https://npm.test/\n"
        : "  -i  Base URL of the index (default\n      https://pip.test/simple). x";
    },
  });
  expect(await registries.readAll()).toEqual(["https://npm.test/", "https://pip.test/simple"]);
  await registries.readAll();
  expect(asked.toSorted()).toEqual(["npm", "pip"]);
  expect(await registries.readEnv()).toEqual({});
});

test("a machine without any of them has none", async () => {
  const registries = openRegistries({ env: {}, home: "/home/me", root: await makeRoot({}), ask: async () => "" });
  expect(await registries.readAll()).toEqual([]);
});
