/** The server as a library: started by the command line and by tests. */
export { readArchive } from "./app/archive/read-archive.ts";
export { parseFault } from "./adapters/fault-env.ts";
export { openLog } from "./adapters/log-pino.ts";
export { findUnbuilt, probeDatabase, probeEngine, probeKubernetes, probeRedis } from "./probe.ts";
export { startServer, type RunningServer, type ServerOptions } from "./main.ts";
export { evaluateCorpus, type GuardianScore } from "./app/evaluate-corpus.ts";
