/** The same attacks in containers of a real engine. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openDocker } from "../../../server/src/adapters/sandbox-docker.ts";
import type { OpenedProvider } from "../conformance/sandbox/given.ts";
import { startDocker } from "../docker.ts";
import { describeHostile } from "./attempt.ts";
import { EXHAUST } from "./exhaust.ts";
import { PLANT_FILES } from "./plant-files.ts";
import { REACH_HOST } from "./reach-host.ts";

async function open(): Promise<OpenedProvider> {
  const engine = await startDocker();
  const folder = await mkdtemp(join(tmpdir(), "drover-hostile-docker-"));
  const openOne = () => openDocker({ host: engine.host, image: engine.image, base: join(folder, "containers") });
  const provider = await openOne();
  return {
    provider,
    reopen: openOne,
    close: async () => {
      await provider.close();
      await engine[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Attempts that mean something of local sandboxes only, or that this image cannot make. */
const NOT_HERE: Readonly<Record<string, string>> = {
  "system programs and the runtime's own files cannot be changed": "the container's files are its own, and no other's",
  "calls to more kernel than an agent needs are refused": "the image has no perl; the engine's own filter is used",
  "raw, packet, vsock and kernel-crypto sockets cannot be opened":
    "the image has no perl; all capabilities are dropped",
  "a hard link to what is not the agent's cannot be made, and one to its own leads nowhere else":
    "an upload replaces the name and leaves the other link as it was",
  "a pipe, a socket and a device in an upload's or download's way are refused at once":
    "an upload replaces what stands in its way",
  "a huge sparse file is no huge file, and neither a download nor a snapshot grows by it":
    "an engine's snapshot writes holes out",
};
const ATTEMPTS = [...REACH_HOST, ...PLANT_FILES, ...EXHAUST];

describeHostile({ name: "docker", open, attempts: ATTEMPTS.filter(({ title }) => NOT_HERE[title] === undefined) });

test("what is not tried in containers is named as it is elsewhere", () => {
  const titles = ATTEMPTS.map(({ title }) => title);
  expect(Object.keys(NOT_HERE).filter((title) => !titles.includes(title))).toEqual([]);
});
