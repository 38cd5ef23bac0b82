/** The images that ours begin with and that compose.yaml starts, made of Debian's packages and npm's Node; and the compose plugin. */
import { existsSync } from "node:fs";
import { chmod, copyFile, cp, mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { runVisible } from "../steps.ts";

const SUITE = "bookworm";
const BASE = `debian:${SUITE}-slim`;
const IMAGES = [`node:24-${SUITE}-slim`, "postgres:17", "redis:7", "nginx:1.28"];
/** Where this machine's apt looks; a base image that asks the same mirror needs no other way out. */
const SOURCES = ["/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list"];
const CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt";
const PLUGIN = "/plugin/usr/libexec/docker/cli-plugins/docker-compose";

async function must(command: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const code = await runVisible(command, env);
  if (code !== 0) throw new Error(`ended with ${code}: ${command.join(" ")}`);
}

async function findSources(): Promise<readonly string[]> {
  for (const path of SOURCES) if (existsSync(path) && (await readFile(path, "utf8")).includes(SUITE)) return [path];
  return [];
}

async function makeBase(tar: string, env: NodeJS.ProcessEnv): Promise<void> {
  const options = [
    "--quiet",
    "--variant=minbase",
    "--include=ca-certificates",
    // A mirror of an older day is as good.
    '--aptopt=Acquire::Check-Valid-Until "false"',
    `--customize-hook=copy-in ${CERTIFICATES} /etc/ssl/certs`,
  ];
  await must(["mmdebstrap", ...options, SUITE, tar, ...(await findSources())], env);
  await must(["docker", "import", tar, BASE], env);
}

async function fillContext(context: string, env: NodeJS.ProcessEnv): Promise<void> {
  await cp(import.meta.dirname, context, { recursive: true });
  await copyFile(process.execPath, join(context, "node"));
  const npm = join(context, "npm");
  await must(["npm", "install", "--no-audit", "--no-fund", "--prefix", npm, "npm@11"], env);
  await cp(join(npm, "node_modules"), join(context, "lib/node_modules"), { recursive: true, verbatimSymlinks: true });
}

/** Debian 12 has its first version only, which does not know what the servers' sandboxes need: the plugin is that of Debian 13. */
async function installPlugin(build: readonly string[], context: string, env: NodeJS.ProcessEnv): Promise<void> {
  const folder = join(env["DOCKER_CONFIG"] ?? "", "cli-plugins");
  await mkdir(folder, { recursive: true });
  await must([...build, "--target", "compose", "--tag", "compose", context], env);
  await must(["docker", "create", "--name", "compose", "compose", "true"], env);
  await must(["docker", "cp", `compose:${PLUGIN}`, folder], env);
  await must(["docker", "rm", "compose"], env);
  await chmod(join(folder, "docker-compose"), 0o755);
}

export async function makeStandIns(scratch: string, env: NodeJS.ProcessEnv): Promise<void> {
  const context = join(scratch, "context");
  await makeBase(join(scratch, "base.tar"), env);
  await fillContext(context, env);
  const build = ["docker", "build", "--quiet", "--network", "host", "--file", join(context, "stand-ins.Dockerfile")];
  for (const image of IMAGES) {
    const [target = ""] = image.split(":");
    await must([...build, "--target", target, "--tag", image, context], env);
  }
  await installPlugin(build, context, env);
}
