/** Local sandboxes, as whoever runs this, keep what every provider promises. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describeSandboxProvider } from "../../../testkit/src/conformance/sandbox-provider.ts";
import { silentLog } from "../../../testkit/src/silent-log.ts";
import { openLocalProvider } from "./sandbox-local.ts";

const WORKER = resolve(import.meta.dirname, "../../../worker/dist");

describeSandboxProvider({
  name: "local",
  connects: true,
  capabilities: {
    pause: true,
    snapshot: true,
    terminal: true,
    socketDirectory: true,
    egressPolicy: true,
    mounts: true,
    survivesServer: true,
  },
  open: async () => {
    const folder = await mkdtemp(join(tmpdir(), "drover-local-"));
    const open = () =>
      openLocalProvider({
        base: join(folder, "sandboxes"),
        node: process.execPath,
        supervisor: join(WORKER, "supervisor.cjs"),
        worker: join(WORKER, "worker.mjs"),
        log: silentLog,
      });
    const provider = await open();
    return {
      provider,
      reopen: open,
      close: async () => {
        await provider.close();
        await rm(folder, { recursive: true, force: true });
      },
    };
  },
});
