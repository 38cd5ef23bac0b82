/** Runs the agent beside this file: its program travels in the repository that the sandbox checks out. */
import { type EventPredicate, toLogEvent } from "@drover/client";
import { connect } from "../connect.ts";

const [repo] = process.argv.slice(2);
if (repo === undefined) {
  console.error("Usage: node examples/custom-acp-agent/run.ts <a Git repository that holds agent.mjs>");
  process.exit(1);
}
const client = connect();
const sandbox = await client.createSandbox({
  body: { runtime: "acp", command: ["node", "agent.mjs"], repo, prompt: "How many sheep are there?" },
});
console.log(`sandbox ${sandbox.id}`);

const isEnd: EventPredicate = (event) =>
  ["agent.completed", "agent.failed"].includes(toLogEvent(event)?.event_type ?? "");
const ended = await client.waitFor(sandbox.id, isEnd, { timeoutMs: 300_000 });
console.log(toLogEvent(ended)?.event_type);
const answer = await client.readFile({ params: { sandbox_id: sandbox.id }, query: { path: "ANSWER.md" } });
console.log(`ANSWER.md: ${(await answer.text()).trim()}`);
await client.terminateSandbox({ params: { sandbox_id: sandbox.id } });
