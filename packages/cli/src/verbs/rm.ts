/** drover rm: terminates sandboxes. */
import { takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { EXIT, UsageError } from "../exit-code.ts";
import type { Arguments, Context, Verb } from "../verb.ts";

async function isAgreed(context: Context, args: Arguments, ids: readonly string[]): Promise<boolean> {
  if (args.has("yes")) return true;
  if (context.ask === undefined) throw new UsageError("nobody can answer here; add --yes", "rm");
  const answer = await context.ask(`Terminate ${ids.join(", ")} and revoke its worker? [y/N] `);
  return /^y(es)?$/i.test(answer.trim());
}

export const rm: Verb = {
  name: "rm",
  summary: "Terminate sandboxes; their logs stay.",
  usage: "<id...>",
  isRemote: true,
  flags: [{ name: "yes", short: "y", doc: "Do not ask." }],
  async run(context, args) {
    const ids = takePositionals(rm, args, 1, 100);
    const client = connect(context, args);
    if (!(await isAgreed(context, args, ids))) {
      context.warn("Nothing was terminated.");
      return EXIT.failed;
    }
    for (const sandbox_id of ids) {
      const sandbox = await client.terminateSandbox({ params: { sandbox_id } }, { signal: context.signal });
      context.print(args.has("json") ? JSON.stringify(sandbox) : `${sandbox.id} ${sandbox.state}`);
    }
    return EXIT.ok;
  },
};
