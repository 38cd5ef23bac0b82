/** Other programs that a server works with. The server is loaded by the check that needs it: every command has this file in it. */
import type { Config } from "@drover/contract";
import { broken, brokenIf, ok, skipped, toReason, type Finding } from "./finding.ts";

const DAYTONA_API = "https://app.daytona.io/api";
const PATIENCE_MS = 10_000;

/** The embedded one is proved by starting it; one's own is only spoken to. */
export async function checkDatabase(config: Config): Promise<Finding> {
  if (config.databaseUrl === undefined) return skipped("database", "the embedded one; proved with the server below");
  const { probeDatabase } = await import("@drover/server");
  // Expected: it is not running, or refuses this user.
  return probeDatabase(config.databaseUrl).then(
    (version) => ok("database", `${version} answers`),
    (error: unknown) =>
      broken("database", toReason(error), "Check DATABASE_URL, and that the database accepts connections."),
  );
}

export async function checkRedis(config: Config): Promise<Finding> {
  if (config.redisUrl === undefined) return skipped("redis", "not used; REDIS_URL is for several replicas");
  const { probeRedis } = await import("@drover/server");
  return probeRedis(config.redisUrl).then(
    () => ok("redis", "answers"),
    (error: unknown) => broken("redis", toReason(error), "Check REDIS_URL, or unset it for a single server."),
  );
}

export async function checkEngine(config: Config): Promise<Finding> {
  const { probeEngine } = await import("@drover/server");
  return probeEngine(config.dockerHost).then(
    (version) => ok("docker", `${version} at ${config.dockerHost}`),
    (error: unknown) =>
      brokenIf(
        config.provider === "docker",
        "docker",
        toReason(error),
        "Start the engine, or name another one with DOCKER_HOST.",
      ),
  );
}

export async function checkDaytona(
  config: Config,
  env: Readonly<Record<string, string | undefined>>,
  fetch: typeof globalThis.fetch,
): Promise<Finding> {
  const isNeeded = config.daytonaExecution || config.provider === "daytona";
  const key = env["DAYTONA_API_KEY"];
  if (key === undefined || key === "")
    return brokenIf(isNeeded, "daytona", "no key is set", "Set DAYTONA_API_KEY to a key of app.daytona.io.");
  const address = `${(env["DAYTONA_API_URL"] || DAYTONA_API).replace(/\/+$/, "")}/sandbox/paginated?limit=1`;
  const headers = { authorization: `Bearer ${key}` };
  try {
    const { status } = await fetch(address, { headers, signal: AbortSignal.timeout(PATIENCE_MS) });
    if (status === 401 || status === 403)
      return brokenIf(isNeeded, "daytona", `the key is refused (${status})`, "Set DAYTONA_API_KEY to a valid key.");
    return ok("daytona", `the key is accepted (${status})`);
  } catch (error) {
    // Expected: no way to the internet.
    return brokenIf(isNeeded, "daytona", `no answer: ${toReason(error)}`, "Check DAYTONA_API_URL and the network.");
  }
}

export async function checkKubernetes(config: Config): Promise<Finding> {
  const isNeeded = config.provider === "kubernetes";
  if (config.kubernetesConfig === undefined)
    return brokenIf(isNeeded, "kubernetes", "no cluster is named", "Set KUBERNETES_CONFIG to a kubeconfig.");
  const { probeKubernetes } = await import("@drover/server");
  return probeKubernetes(config).then(
    () => ok("kubernetes", `the cluster answers for namespace ${config.kubernetesNamespace}`),
    (error: unknown) =>
      brokenIf(
        isNeeded,
        "kubernetes",
        toReason(error),
        "Check KUBERNETES_CONFIG, and that its user may list pods of KUBERNETES_NAMESPACE.",
      ),
  );
}
