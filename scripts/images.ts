/** Builds the images of the server and of sandboxes, or the one that is named: `npm run images -- sandbox --host unix:///run/docker.sock`. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { complainOfEngine } from "./images/ping.ts";
import { planBuilds } from "./images/plan-builds.ts";
import { ROOT, runVisible } from "./steps.ts";

/** By docker's own rule: the one that is told, that of the environment, the usual one. */
const USUAL_HOST = "unix:///var/run/docker.sock";

async function buildImages(): Promise<number> {
  const { values, positionals } = parseArgs({ options: { host: { type: "string" } }, allowPositionals: true });
  const host = values.host ?? process.env.DOCKER_HOST ?? USUAL_HOST;
  const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string };
  const builds = planBuilds({ names: positionals, host, version });
  const complaint = await complainOfEngine(host);
  if (complaint !== undefined) {
    console.error(`no engine answers at ${host}: ${complaint}\nStart one, or name another with --host or DOCKER_HOST.`);
    return 1;
  }
  for (const build of builds) {
    console.log(build.join(" "));
    const code = await runVisible(build);
    if (code !== 0) return code;
  }
  return 0;
}

try {
  process.exitCode = await buildImages();
} catch (error) {
  const isMissing = error instanceof Error && "code" in error && error.code === "ENOENT";
  console.error(isMissing ? "there is no docker program: install docker.io" : String(error));
  process.exitCode = 2;
}
