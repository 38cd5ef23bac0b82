/** Whether an engine answers at an address, before anything is sent to it. */
import { request, type RequestOptions } from "node:http";

const PATIENCE_MS = 10_000;

function toTarget(host: string): RequestOptions {
  const url = URL.parse(host);
  if (url?.protocol === "unix:" && url.pathname !== "") return { socketPath: decodeURIComponent(url.pathname) };
  if (url?.protocol === "tcp:" && url.hostname !== "")
    return { host: url.hostname, port: url.port === "" ? 2375 : Number(url.port) };
  throw new Error(`${host} is no address of an engine: unix:///path/of/docker.sock or tcp://host:port`);
}

/** Undefined when it does; otherwise what came instead. */
export async function complainOfEngine(host: string): Promise<string | undefined> {
  const target = toTarget(host);
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const asking = request(
    { ...target, path: "/_ping", agent: false, signal: AbortSignal.timeout(PATIENCE_MS) },
    (answer) => {
      answer.resume();
      resolve(answer.statusCode === 200 ? undefined : `it answered with ${answer.statusCode}`);
    },
  );
  asking.on("error", (error) => resolve(error.message)).end();
  return promise;
}
