/** Log records as JSON lines on standard error; standard output belongs to the command's answers. */
import { pino } from "pino";
import type { Log } from "../ports/log.ts";

export function openLog(level: string): Log {
  const out = pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ dest: 2, sync: true }),
  );
  const write =
    (severity: "debug" | "info" | "warn" | "error") => (name: string, fields?: Readonly<Record<string, unknown>>) =>
      out[severity]({ ...fields }, name);
  return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
}
