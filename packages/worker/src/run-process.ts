/** The worker with this process's environment and signals. */
import { AppError } from "@drover/contract";
import { parseFault } from "./fault.ts";
import { stderrLog } from "./log.ts";
import { EXIT_CODES, runWorker } from "./run-worker.ts";

/** `own` is `process.env` itself: the credential is taken out of it. Resolves to the exit code; what is wrong with the
 *  start is one line on standard error. */
export async function runProcess(own: NodeJS.ProcessEnv): Promise<number> {
  const env = { ...own };
  // Whatever this process starts from now on inherits no credential.
  delete own.SANDBOX_TOKEN;
  delete own.DROVER_FAULT;
  const ending = new AbortController();
  for (const name of ["SIGTERM", "SIGINT"] as const) process.once(name, () => ending.abort(name));
  try {
    const { DROVER_FAULT, ...given } = env;
    const fault = parseFault(DROVER_FAULT, () => process.kill(process.pid, "SIGKILL"));
    const exit = await runWorker(given, ending.signal, { fault, log: stderrLog });
    stderrLog("worker.ended", { ...exit });
    return exit.code;
  } catch (error) {
    const detail =
      error instanceof AppError
        ? error.message
        : error instanceof Error
          ? (error.stack ?? error.message)
          : String(error);
    process.stderr.write(`drover worker: cannot start: ${detail}\n`);
    return EXIT_CODES.failed;
  }
}
