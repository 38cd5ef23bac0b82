/** A command starts in the time that its modules take. Broken on purpose once: a verb that imports the server for one of its checks. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const MAIN = join(import.meta.dirname, "main.ts");
/** Says at the end which files of the server were loaded. */
const WATCH = `
import { registerHooks } from "node:module";
const files = [];
registerHooks({ load: (url, context, next) => { files.push(url); return next(url, context); } });
process.on("exit", () => console.error(JSON.stringify(files.map((url) => url.split("/packages/server/")[1]).filter(Boolean))));`;

test("who asks a server does not load one", async () => {
  const watch = `data:text/javascript,${encodeURIComponent(WATCH)}`;
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ["--import", watch, MAIN, "help"]);
  expect(stdout).toContain("doctor");
  expect(JSON.parse(stderr)).toEqual(["src/config.ts"]);
});
