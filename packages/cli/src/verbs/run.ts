/** drover run: a sandbox in which an agent works on a prompt. */
import { NewSandbox } from "@drover/contract";
import { parseAssignments } from "../assignments.ts";
import { takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { EXIT, UsageError } from "../exit-code.ts";
import { followSandbox } from "../follow-sandbox.ts";
import { runDirect } from "../run-direct.ts";
import type { Arguments, Verb } from "../verb.ts";
import { printWorkerEnv } from "../worker-env.ts";

function parseAmount(args: Arguments, flag: string): number | undefined {
  const text = args.get(flag);
  if (text === undefined) return undefined;
  const amount = Number(text.replace(/gb?$/i, ""));
  if (!(amount > 0)) throw new UsageError(`--${flag} takes a number, not ${JSON.stringify(text)}`, run.name);
  return amount;
}

const FIELDS: Readonly<Record<string, string>> = {
  provider: "provider",
  runtime: "runtime",
  model: "model",
  repo: "repo",
  branch: "base_branch",
  project: "project_id",
  image: "image",
  snapshot: "snapshot",
  network: "network",
};

/** What only a direct run follows; a server would not be told of it. */
const DIRECT_ONLY = ["mode", "agent-server", "timeout", "script"];

function toRequest(args: Arguments, prompt: string): NewSandbox {
  const resources = {
    memory_gb: parseAmount(args, "memory"),
    cpu: parseAmount(args, "cpu"),
    disk_gb: parseAmount(args, "disk"),
  };
  const given = {
    prompt,
    ...Object.fromEntries(Object.entries(FIELDS).map(([flag, field]) => [field, args.get(flag)])),
    env: parseAssignments(run, args, "env"),
    labels: parseAssignments(run, args, "label"),
    budget_usd: parseAmount(args, "budget"),
    resume_from: args.get("resume"),
    ...(args.has("continuous") ? { continuous: true } : {}),
    ...(Object.values(resources).every((one) => one === undefined) ? {} : { resources }),
  };
  const parsed = NewSandbox.safeParse(given);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new UsageError(`${issue?.path.join(".") ?? ""}: ${issue?.message ?? "is not valid"}`, run.name);
}

export const run: Verb = {
  name: "run",
  summary: "Start a sandbox in which an agent works on a prompt.",
  usage: "<prompt...> [flags]",
  isRemote: true,
  flags: [
    { name: "follow", short: "f", doc: "Show what happens until the work ends; Ctrl-C leaves it running." },
    { name: "direct", doc: "One task in one sandbox by this command itself: no server, no queue; waits for its end." },
    { name: "mode", value: "name", doc: "With --direct: local (WORKSPACE_MODE), docker, daytona, remote." },
    { name: "agent-server", value: "address", doc: "With --mode remote: where it is (DROVER_AGENT_SERVER_URL)." },
    { name: "timeout", value: "seconds", doc: "With --direct: give up after so long (300)." },
    { name: "script", value: "path", doc: "With --direct: what a scripted agent plays, as YAML or JSON." },
    {
      name: "provider",
      value: "name",
      doc: "What makes the sandbox: local, docker, daytona, kubernetes, remote, external.",
    },
    { name: "runtime", value: "name", doc: "Which agent works in it." },
    { name: "model", value: "name", doc: "Which model the agent uses." },
    { name: "repo", value: "address", doc: "Repository that is checked out in the workspace." },
    { name: "branch", value: "name", doc: "Branch of the repository to start from." },
    { name: "budget", value: "usd", doc: "What its models may cost; then it is paused and you are asked." },
    { name: "resume", value: "id", doc: "Go on with the run of another sandbox: its files and its agent's memory." },
    { name: "continuous", doc: "Work in iterations until evidence says that it is done." },
    { name: "memory", value: "gib", doc: "Memory of the sandbox in GiB." },
    { name: "cpu", value: "cores", doc: "Processor cores of the sandbox." },
    { name: "disk", value: "gib", doc: "Disk of the sandbox in GiB." },
    { name: "network", value: "mode", doc: "none, allowlist or open." },
    { name: "env", short: "e", value: "name=value", many: true, doc: "A variable of the sandbox; never a secret." },
    { name: "label", value: "name=value", many: true, doc: "A label; may be repeated." },
    { name: "image", value: "name", doc: "Image, where the provider uses images." },
    { name: "snapshot", value: "name", doc: "Snapshot to start from, where the provider has them." },
    { name: "project", value: "id", doc: "Project it belongs to." },
  ],
  details:
    "Prints the sandbox's id; of provider external, once, the variables of its worker, for `eval`. A prompt of `-` is read from standard input. With --follow or --direct the exit code says how the work ended: 0 completed, 1 failed or ended otherwise. A direct run prints its result as the last line; see docs/HARNESS.md.",
  async run(context, args) {
    const words = takePositionals(run, args, 1, Number.POSITIVE_INFINITY).join(" ");
    const prompt = words === "-" ? (await context.readInput()).trimEnd() : words;
    if (args.has("direct")) {
      const env = parseAssignments(run, args, "env");
      return runDirect(context, args, prompt, { env, getAmount: (flag) => parseAmount(args, flag) });
    }
    const stray = DIRECT_ONLY.find((flag) => args.get(flag) !== undefined);
    if (stray !== undefined) throw new UsageError(`--${stray} needs --direct`, run.name);
    const body = toRequest(args, prompt);
    const client = connect(context, args);
    const sandbox = await client.createSandbox({ body }, { signal: context.signal });
    if (!args.has("follow")) {
      if (args.has("json")) context.print(JSON.stringify(sandbox, null, 2));
      else if (sandbox.worker_env === undefined) context.print(sandbox.id);
      else printWorkerEnv(context, sandbox);
      return EXIT.ok;
    }
    if (!args.has("json")) printWorkerEnv(context, sandbox);
    context.warn(`${sandbox.id} (${sandbox.provider})`);
    return followSandbox(context, client, sandbox, args.has("json"));
  },
};
