/** drover providers: what can make sandboxes, looked at now. */
import { takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { EXIT } from "../exit-code.ts";
import { formatFields } from "../table.ts";
import { toSafeText, wrap } from "../terminal.ts";
import type { Verb } from "../verb.ts";

export const providers: Verb = {
  name: "providers",
  summary: "What can make sandboxes here, and what helps where it cannot.",
  usage: "[flags]",
  isRemote: true,
  flags: [],
  async run(context, args) {
    takePositionals(providers, args, 0, 0);
    const { items } = await connect(context, args).listProviders({}, { signal: context.signal });
    if (args.has("json")) {
      context.print(JSON.stringify(items, null, 2));
      return EXIT.ok;
    }
    const names = items.map((one) => (one.is_default ? `${one.name} (default)` : one.name));
    const room = context.width - Math.max(0, ...names.map((name) => name.length)) - 2;
    const texts = items.map((one) =>
      one.is_ready ? ["ready", ...one.capabilities].join(", ") : (one.problem ?? "not ready"),
    );
    const fields = names.map((name, index) => [name, wrap(toSafeText(texts[index] ?? ""), room)] as const);
    for (const line of formatFields(fields)) context.print(line);
    return EXIT.ok;
  },
};
