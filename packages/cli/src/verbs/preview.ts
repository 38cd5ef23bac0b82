/** drover preview: a link that opens a port of a sandbox in a browser. */
import { takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { EXIT, UsageError } from "../exit-code.ts";
import type { Verb } from "../verb.ts";

export const preview: Verb = {
  name: "preview",
  summary: "Print a link that opens a port of a sandbox in a browser.",
  usage: "<id> [port]",
  isRemote: true,
  flags: [],
  details:
    "The port is 3000 unless told. The link works once, for a minute; the browser that opened it sees the preview for 12 hours.",
  async run(context, args) {
    const [sandbox_id = "", port] = takePositionals(preview, args, 1, 2);
    if (port !== undefined && !/^\d{1,5}$/.test(port)) throw new UsageError(`${port} is no port`, preview.name);
    const body = port === undefined ? {} : { port: Number(port) };
    const found = await connect(context, args).openPreview(
      { params: { sandbox_id }, body },
      { signal: context.signal },
    );
    if (args.has("json")) context.print(JSON.stringify(found));
    else context.print(found.url);
    if (!args.has("json") && !found.is_answering)
      context.warn(`Nothing listens on port ${found.port} of the sandbox yet.`);
    return EXIT.ok;
  },
};
