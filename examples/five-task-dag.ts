/** A ticket of five tasks: one lays the ground, two work at once, one joins them, one checks; it ends as a merged pull request. */
import { connect } from "./connect.ts";

const client = connect();

/** What an agent would do by itself; here a script does it, so that the example needs no model. */
const toWork = (path: string, content: string) => ({
  runtime: "scripted",
  script: {
    steps: [
      { edit: { path, content } },
      { command: { argv: ["git", "add", "-A"] } },
      {
        command: {
          argv: ["git", "-c", "user.name=agent", "-c", "user.email=agent@example.org", "commit", "-qm", path],
        },
      },
      { command: { argv: ["git", "push", "-q", "origin", "HEAD"] } },
    ],
  },
});

const TASKS = [
  { title: "ground", after: [], work: toWork("ground.mjs", "export const ground = 10;\n") },
  { title: "left", after: ["ground"], work: toWork("left.mjs", "export const left = 1;\n") },
  { title: "right", after: ["ground"], work: toWork("right.mjs", "export const right = 2;\n") },
  { title: "join", after: ["left", "right"], work: toWork("total.mjs", "export const total = 13;\n") },
  { title: "check", after: ["join"], work: toWork("CHECKED.md", "checked\n") },
];

const project = await client.createProject({
  body: { name: `Five tasks ${Date.now()}`, autonomous_execution_enabled: true, settings: { provider: "local" } },
});
// A repository at Drover's own host, with an empty main.
await client.changeProjectGit({ params: { project_id: project.id }, body: { host: "builtin" } });
const ticket = await client.createTicket({ body: { title: "Count the sheep", project_id: project.id } });

const ids = new Map<string, string>();
for (const { title, after, work } of TASKS) {
  const depends_on = after.flatMap((name) => ids.get(name) ?? []);
  const body = { ticket_id: ticket.id, title, execution_config: work, dependencies: { depends_on } };
  ids.set(title, (await client.createTask({ body })).id);
}
const titles = new Map(Array.from(ids, ([title, id]) => [id, title]));

for await (const { event_type, entity_id } of client.events({
  filter: { entity_types: ["task", "ticket"] },
  afterSeq: 0,
})) {
  const title = titles.get(entity_id);
  if (title !== undefined) console.log(`${title}: ${event_type}`);
  if (entity_id !== ticket.id) continue;
  const { status, is_blocked, blocked_reason } = await client.getTicket({ params: { ticket_id: ticket.id } });
  if (is_blocked) throw new Error(`the ticket is blocked: ${blocked_reason}`);
  if (status === "done") break;
}
const { items } = await client.listPulls({ query: { ticket_id: ticket.id } });
for (const { number, title, state } of items) console.log(`pull request ${number}, ${title}: ${state}`);
