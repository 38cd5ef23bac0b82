/** drover broadcast: one message to all agents of a ticket or a project. */
import { takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { EXIT } from "../exit-code.ts";
import { printList } from "../list-text.ts";
import type { Verb } from "../verb.ts";

export const broadcast: Verb = {
  name: "broadcast",
  summary: "Send a message to every agent of a ticket or a project.",
  usage: "<text...> [flags]",
  isRemote: true,
  flags: [
    { name: "ticket", value: "id", doc: "To the agents that work on this ticket." },
    { name: "project", value: "id", doc: "To the agents of this project." },
    { name: "queue", doc: "Deliver after the turns that run, instead of into them." },
  ],
  details: "A text of `-` is read from standard input. Only agents that are at work are told; all of them or none.",
  async run(context, args) {
    const text = takePositionals(broadcast, args, 1, Number.POSITIVE_INFINITY).join(" ");
    const [ticket_id, project_id] = [args.get("ticket"), args.get("project")];
    const body = {
      content: text === "-" ? (await context.readInput()).trimEnd() : text,
      delivery: args.has("queue") ? ("queue" as const) : ("steer" as const),
      ...(ticket_id === undefined ? {} : { ticket_id }),
      ...(project_id === undefined ? {} : { project_id }),
    };
    const sent = await connect(context, args).broadcastMessage({ body }, { signal: context.signal });
    const page = { items: sent.recipients, next_cursor: null };
    printList(context, args, page, {
      header: ["SANDBOX", "MESSAGE"],
      toRow: (to) => [to.sandbox_id, to.message_id],
      nothing: "No agent is at work there.",
    });
    return EXIT.ok;
  },
};
