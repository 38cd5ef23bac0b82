/** drover verify: the flow of a run, from sandbox to stream, checked in seconds without an agent. */
import { toLogEvent } from "@drover/client";
import { takePositionals } from "../arguments.ts";
import { CheckFailed, hold, openChecks } from "../checks.ts";
import { resolveConnection } from "../connection.ts";
import { EXIT } from "../exit-code.ts";
import type { Verb } from "../verb.ts";

const LIMIT_MS = 30_000;

export const verify: Verb = {
  name: "verify",
  summary: "Check in seconds that events and messages flow.",
  usage: "[flags]",
  isRemote: true,
  flags: [{ name: "project", value: "id", doc: "Project in which the check's sandbox is made." }],
  details:
    "Makes a sandbox of provider external, speaks for its worker, and removes it again. Exit code 1: something does not hold.",
  async run(context, args) {
    takePositionals(verify, args, 0, 0);
    const { url, token } = resolveConnection(context, args);
    const client = context.createClient({ baseUrl: url, token });
    const checks = openChecks(context, args);
    const signal = AbortSignal.any([context.signal, AbortSignal.timeout(LIMIT_MS)]);
    const project_id = args.get("project");
    let made: string | undefined;
    try {
      await checks.run("the token is known", () => client.whoami({}, { signal }));
      const body = {
        provider: "external" as const,
        labels: { made_by: "drover-verify" },
        ...(project_id === undefined ? {} : { project_id }),
      };
      const sandbox = await checks.run("a sandbox is made", () => client.createSandbox({ body }, { signal }));
      made = sandbox.id;
      const params = { sandbox_id: sandbox.id };
      const worker = context.createClient({ baseUrl: url, token: sandbox.worker_token });
      const { last_seq } = await client.listSandboxEvents({ params, query: { limit: 1 } }, { signal });
      const events = [1, 2, 3].map((n) => ({
        event_type: "agent.message",
        event_data: { turn: 1, content: `check ${n}` },
        client_event_id: `verify-${n}`,
      }));
      await checks.run("events are taken, and the same ones twice are stored once", async () => {
        await worker.ingestEvents({ params, body: { events } }, { signal });
        const again = await worker.ingestEvents({ params, body: { events } }, { signal });
        hold("duplicates" in again && again.duplicates === events.length, "an event was stored twice");
      });
      await checks.run("they are read in order", async () => {
        const query = { after_seq: last_seq, event_type: ["agent.message"] };
        const page = await client.listSandboxEvents({ params, query }, { signal });
        const said = page.events.map(({ event_data }) => event_data["content"]);
        hold(
          JSON.stringify(said) === JSON.stringify(["check 1", "check 2", "check 3"]),
          `read ${JSON.stringify(said)}`,
        );
      });
      await checks.run("the live stream brings them, from any place on", async () => {
        const filter = { entity_types: ["sandbox"], entity_ids: [sandbox.id] };
        let count = 0;
        for await (const frame of client.events({ filter, afterSeq: last_seq, signal })) {
          if (toLogEvent(frame)?.event_type === "agent.message") count += 1;
          if (count === events.length) return;
        }
        throw new CheckFailed(`the stream ended after ${count} of ${events.length}`);
      });
      await checks.run("a message reaches the worker, and its receipt comes back", async () => {
        const sent = await client.sendMessage({ params, body: { content: "hello" } }, { signal });
        const got = await worker.receiveMessages({ params, query: { lease: 30, wait: 10 } }, { signal });
        hold(
          got.some(({ id }) => id === sent.message_id),
          "the worker got another message, or none",
        );
        await worker.ackMessage(
          { params: { ...params, message_id: sent.message_id }, body: { status: "seen" } },
          { signal },
        );
        const { items } = await client.listMessages({ params, query: {} }, { signal });
        hold(items[0]?.state === "seen", `the message is ${items[0]?.state ?? "gone"}`);
      });
    } catch (error) {
      // Told already, where it is a check's; what could not be reached says so by its own exit code.
      if (!(error instanceof CheckFailed)) throw error;
      if (error.reason !== undefined && made === undefined) throw error.reason;
    } finally {
      if (made !== undefined)
        await client
          .terminateSandbox({ params: { sandbox_id: made } }, { signal: context.signal })
          .catch(() => undefined);
    }
    return checks.finish({ sandbox_id: made ?? null }) === EXIT.ok ? EXIT.ok : EXIT.failed;
  },
};
