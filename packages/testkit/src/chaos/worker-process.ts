/** The worker as a process under test: as its own program starts it, on a disk that notes what was accepted. */
import { openDisk } from "../../../worker/src/disk.ts";
import { parseFault } from "../../../worker/src/fault.ts";
import { stderrLog } from "../../../worker/src/log.ts";
import { runWorker } from "../../../worker/src/run-worker.ts";
import { toNotingDisk } from "./accept-log.ts";
import { UNSENT } from "./exit-code.ts";

const { DROVER_FAULT, ACCEPT_LOG = "", ...env } = process.env;
const ending = new AbortController();
process.once("SIGTERM", () => ending.abort("SIGTERM"));
stderrLog("worker.begins");
const exit = await runWorker(env, ending.signal, {
  fault: parseFault(DROVER_FAULT, () => process.kill(process.pid, "SIGKILL")),
  log: stderrLog,
  openDisk: async (directory) => toNotingDisk(await openDisk(directory), ACCEPT_LOG),
});
stderrLog("worker.ended", { ...exit });
process.exit(exit.code === 0 && exit.unsent > 0 ? UNSENT : exit.code);
