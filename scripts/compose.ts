/** Builds the images and sees compose.yaml answer. Without a registry of images, in an engine apart, with stand-ins of Debian's packages; with
 *  `-- --engine`, in the engine of DOCKER_HOST, which fetches the published ones. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startDockerd } from "../packages/testkit/src/dockerd.ts";
import { makeStandIns } from "./compose/make-stand-ins.ts";
import { ROOT, runVisible } from "./steps.ts";

const FACTS = join(ROOT, "scripts/compose/facts.ts");

/** By the classic builder: it needs no plugin, and the stand-ins are in no registry that another would ask. */
async function seeApart(): Promise<number> {
  const scratch = await mkdtemp(join(tmpdir(), "drover-compose-"));
  await using undo = new AsyncDisposableStack();
  undo.defer(() => rm(scratch, { recursive: true, force: true }));
  const env = { DOCKER_CONFIG: join(scratch, "config"), DOCKER_BUILDKIT: "0" };
  await using builder = await startDockerd(scratch, "none");
  const built = { ...env, DOCKER_HOST: builder.host };
  await makeStandIns(scratch, built);
  const code = await runVisible(["docker", "build", "--network", "host", "--tag", "drover", "."], built);
  if (code !== 0) return code;
  await builder.stop();
  await using engine = await startDockerd(scratch, "apart");
  const inside = ["nsenter", `--net=/proc/${engine.pid}/ns/net`, process.execPath, FACTS];
  // Awaited here: the engine ends with this function.
  return await runVisible(inside, { ...env, DOCKER_HOST: engine.host });
}

async function seeInEngine(): Promise<number> {
  const code = await runVisible(["docker", "build", "--tag", "drover", "."]);
  return code === 0 ? runVisible([process.execPath, FACTS]) : code;
}

const { values } = parseArgs({ options: { engine: { type: "boolean", default: false } } });
process.exitCode = await (values.engine ? seeInEngine() : seeApart());
