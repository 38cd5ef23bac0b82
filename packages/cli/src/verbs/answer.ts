/** drover answer: allows or refuses what an agent asks for. */
import { takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { EXIT, UsageError } from "../exit-code.ts";
import type { Verb } from "../verb.ts";

export const answer: Verb = {
  name: "answer",
  summary: "Allow or refuse what an agent asks for.",
  usage: "<id> <request> allow|deny [flags]",
  isRemote: true,
  flags: [
    { name: "option", value: "id", doc: "One of the request's own options." },
    { name: "text", value: "text", doc: "The answer to a question." },
    { name: "note", value: "text", doc: "Why; the agent is told." },
  ],
  details: "`drover permissions <id>` lists the requests. An answered one cannot be answered otherwise.",
  async run(context, args) {
    const [sandbox_id = "", request_id = "", decision] = takePositionals(answer, args, 3, 3);
    if (decision !== "allow" && decision !== "deny")
      throw new UsageError(`usage: drover ${answer.name} ${answer.usage}`, answer.name);
    const body = { decision, option_id: args.get("option"), text: args.get("text"), note: args.get("note") } as const;
    const client = connect(context, args);
    const given = await client.answerPermission(
      { params: { sandbox_id, request_id }, body },
      { signal: context.signal },
    );
    context.print(args.has("json") ? JSON.stringify(given) : `${given.request_id} ${given.decision}`);
    return EXIT.ok;
  },
};
