/** A log that nobody reads. */
import type { Log } from "../../server/src/ports/log.ts";

const ignore = () => undefined;

export const silentLog: Log = { debug: ignore, info: ignore, warn: ignore, error: ignore };
