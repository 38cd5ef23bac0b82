/** Drover inside a program of your own: start a run, watch it, say a word to it, and take its result. */
import { toLogEvent } from "@drover/client";
import { connect } from "./connect.ts";

const client = connect();

const sandbox = await client.createSandbox({
  body: {
    runtime: "scripted",
    prompt: "Write a greeting",
    script: {
      steps: [
        { text: "Whom shall I greet?" },
        { wait_for_message: { seconds: 600 } },
        { edit: { path: "greeting.txt", content: "Hello, herd!\n" } },
        { text: "Done." },
      ],
    },
  },
});
console.log(`sandbox ${sandbox.id}`);

// Every event once and in order, from the first one on, through any number of reconnects.
const filter = { entity_types: ["sandbox"], entity_ids: [sandbox.id] };
for await (const frame of client.events({ filter, afterSeq: 0 })) {
  const type = toLogEvent(frame)?.event_type;
  console.log(frame.seq, type);
  if (type === "agent.waiting") {
    await client.sendMessage({ params: { sandbox_id: sandbox.id }, body: { content: "The herd" } });
  }
  if (type === "agent.failed") throw new Error("the run failed");
  if (type === "agent.completed") break;
}

const path = "greeting.txt";
const file = await client.readFile({ params: { sandbox_id: sandbox.id }, query: { path } });
console.log(`${path}: ${(await file.text()).trim()}`);
await client.terminateSandbox({ params: { sandbox_id: sandbox.id } });
