/** The whole path once: a sandbox is made, its worker reaches the server, its way out is guarded, and it is removed. */
import type { Client } from "@drover/client";
import type { Config, Sandbox } from "@drover/contract";
import type { Context } from "../verb.ts";
import { broken, ok, skipped, toReason, warning, type Finding } from "./finding.ts";

const REACHED_LIMIT_MS = 90_000;
const NOTED_LOOKS = 100;
const NOTED_LOOK_MS = 100;

type Waiting = Pick<Context, "signal" | "wait">;

const SCRIPT = { steps: [{ wait_for_message: { seconds: 120 } }] };

/** Asks the proxy inside for an address that no sandbox may reach. As patient as a machine with too much to do needs. */
const ASK_PROXY = `
const socket = require("node:net").connect(3128, "127.0.0.1");
socket.on("error", (error) => { console.log("no proxy: " + error.code); process.exit(0); });
socket.on("data", (bytes) => { console.log(bytes.toString("utf8").split("\\r\\n")[0]); process.exit(0); });
socket.write("CONNECT 169.254.169.254:80 HTTP/1.1\\r\\nhost: 169.254.169.254:80\\r\\n\\r\\n");
setTimeout(() => { console.log("silence"); process.exit(0); }, 40000);`;

/** What to do where the kernel does not enforce a limit. */
const FIXES: Readonly<Record<string, string>> = {
  memory: "Run Drover where cgroups can be written (as root, or with a delegated cgroup).",
  cpu: "Run Drover where cgroups can be written (as root, or with a delegated cgroup).",
  processes: "Run Drover where cgroups can be written (as root, or with a delegated cgroup).",
  disk: "Use a provider or a file system with quotas.",
  network: "Use provider local with bubblewrap, or docker.",
  isolation: "Install bubblewrap, and do without --unsafe-no-sandbox.",
};

function toLimitFindings(sandbox: Sandbox): readonly Finding[] {
  return Object.entries(sandbox.enforced_by ?? {}).map(([limit, enforcer]) => {
    const name = `limit: ${limit}`;
    const isLax = enforcer === "none" || enforcer === "unsafe";
    if (!isLax) return ok(name, enforcer === "watchdog" ? "watchdog (looked at every few seconds)" : enforcer);
    return warning(
      name,
      enforcer === "unsafe" ? "UNSAFE: nothing isolates it" : "nothing enforces it",
      FIXES[limit] ?? "",
    );
  });
}

/** No network but our proxy: by namespaces of ours, or by an engine's. */
const GUARDED: ReadonlySet<string | undefined> = new Set(["namespaces", "engine"]);

async function checkEgress(client: Client, sandbox: Sandbox, signal: AbortSignal): Promise<Finding> {
  if (!GUARDED.has(sandbox.enforced_by?.["network"]))
    return skipped("egress", `provider ${sandbox.provider} guards its own network`);
  const body = { argv: ["node", "-e", ASK_PROXY], timeout_s: 60 };
  const { stdout } = await client.execCommand({ params: { sandbox_id: sandbox.id }, body }, { signal });
  const said = stdout.trim();
  return /^HTTP\/1\.[01] 4\d\d/.test(said)
    ? ok("egress", "the proxy answers, and refuses this machine's own network")
    : broken("egress", `the proxy inside says: ${said || "nothing"}`, "Look for `egress` in the server's log.");
}

const ENDED: ReadonlySet<unknown> = new Set(["failed", "cancelled", "terminated"]);

const isReached = (payload: Readonly<Record<string, unknown>>) =>
  payload["original_event_type"] === "STATE_CHANGED" && (payload["to"] === "running" || ENDED.has(payload["to"]));

/** The worker may speak before it is noted what the provider made: that comes a moment later. */
async function untilReached(client: Client, id: Sandbox["id"], { signal, wait }: Waiting): Promise<Sandbox> {
  await client.waitFor(id, ({ payload }) => isReached(payload), { timeoutMs: REACHED_LIMIT_MS, signal });
  for (let looks = 0; ; looks += 1) {
    const sandbox = await client.getSandbox({ params: { sandbox_id: id } }, { signal });
    if (sandbox.enforced_by !== null || ENDED.has(sandbox.state) || looks >= NOTED_LOOKS) return sandbox;
    await wait(NOTED_LOOK_MS);
  }
}

/** `client` speaks to a server of this machine, the running one or one made for this. */
export async function checkPath(
  client: Client,
  { provider }: Pick<Config, "provider">,
  waiting: Waiting,
): Promise<readonly Finding[]> {
  const { signal } = waiting;
  const made = `sandbox (${provider})`;
  let id: Sandbox["id"] | undefined;
  try {
    const body = { provider, runtime: "scripted", script: SCRIPT, labels: { doctor: "true" } };
    const created = await client.createSandbox({ body }, { signal });
    id = created.id;
    const sandbox = await untilReached(client, created.id, waiting);
    if (sandbox.state !== "running")
      return [broken(made, sandbox.state_cause ?? sandbox.state, `See: drover events ${sandbox.id}`)];
    return [
      ok(made, "made and started"),
      ok("dial-back", "the worker inside reached this server"),
      ...toLimitFindings(sandbox),
      await checkEgress(client, sandbox, signal),
    ];
  } catch (error) {
    // Expected: the provider is not available here, or the worker never spoke.
    return [broken(made, toReason(error), "Fix what is broken above; the message says what is missing.")];
  } finally {
    if (id !== undefined) await client.terminateSandbox({ params: { sandbox_id: id } }).catch(() => undefined);
  }
}
