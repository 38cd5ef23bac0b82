/** drover attach: a terminal in a sandbox. */
import { takePositionals } from "../arguments.ts";
import { awaitStanding } from "../await-standing.ts";
import { connect } from "../connection.ts";
import { EXIT, UsageError } from "../exit-code.ts";
import type { Verb } from "../verb.ts";

/** Ctrl-], as telnet has it. */
const LEAVE = 0x1d;

export const attach: Verb = {
  name: "attach",
  summary: "Open a terminal in a sandbox.",
  usage: "<id>",
  isRemote: true,
  flags: [],
  details:
    "Every key goes to the shell in the sandbox, Ctrl-C too; Ctrl-] leaves, and the shell ends. What is shown is recorded. The exit code is the shell's.",
  async run(context, args) {
    const [sandbox_id = ""] = takePositionals(attach, args, 1, 1);
    const { console } = context;
    if (console === undefined)
      throw new UsageError("there is no terminal here; use `drover exec` for commands", attach.name);
    const client = connect(context, args);
    await awaitStanding(context, client, sandbox_id);
    const session = await client.openTerminal(sandbox_id, {
      ...console.size(),
      onOutput: console.write,
    });
    console.onResize(() => {
      const { columns, rows } = console.size();
      session.resize(columns, rows);
    });
    context.signal.addEventListener("abort", () => session.close(), { once: true });
    const giveBack = console.takeOver((keys) => {
      const end = keys.indexOf(LEAVE);
      session.write(end === -1 ? keys : keys.subarray(0, end));
      if (end !== -1) session.close();
    });
    try {
      return (await session.ended).code ?? EXIT.ok;
    } finally {
      giveBack();
      context.warn("");
    }
  },
};
