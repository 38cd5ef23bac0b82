/** drover files: what lies in a sandbox, now or as of any event. */
import { parseCount, takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { toElapsed } from "../elapsed.ts";
import { EXIT } from "../exit-code.ts";
import { printList } from "../list-text.ts";
import { printContent } from "../print-content.ts";
import type { Verb } from "../verb.ts";

export const files: Verb = {
  name: "files",
  summary: "List a directory of a sandbox, or print a file.",
  usage: "<id> [path]",
  isRemote: true,
  flags: [
    { name: "cat", doc: "Print the file instead of listing a directory." },
    { name: "at", value: "seq", doc: "As of this event of the run." },
  ],
  details: "The path is /workspace unless one is given. Through a pipe a file is printed exactly.",
  async run(context, args) {
    const [sandbox_id = "", path = "/workspace"] = takePositionals(files, args, args.has("cat") ? 2 : 1, 2);
    const input = { params: { sandbox_id }, query: { path, at_seq: parseCount(files, args, "at") } };
    const client = connect(context, args);
    if (args.has("cat")) {
      await printContent(context, await client.readFile(input, { signal: context.signal }));
      return EXIT.ok;
    }
    const { entries } = await client.listFiles(input, { signal: context.signal });
    const now = context.now();
    printList(
      context,
      args,
      { items: entries },
      {
        header: ["KIND", "SIZE", "CHANGED", "NAME"],
        toRow: ({ kind, size, modified_at, name }) => [kind, String(size), `${toElapsed(modified_at, now)} ago`, name],
        nothing: "It is empty.",
      },
    );
    return EXIT.ok;
  },
};
