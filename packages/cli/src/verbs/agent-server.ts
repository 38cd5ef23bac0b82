/** drover agent-server: conversations with an agent over HTTP, without a queue and without the control plane. */
import { takePositionals } from "../arguments.ts";
import { resolveSettings } from "../agent-server/settings.ts";
import { EXIT } from "../exit-code.ts";
import type { Verb } from "../verb.ts";

export const agentServer: Verb = {
  name: "agent-server",
  summary: "Serve conversations with a coding agent over HTTP and sockets.",
  usage: "[flags]",
  flags: [
    { name: "host", value: "address", doc: "Where to listen (127.0.0.1; AGENT_SERVER_HOST)." },
    { name: "port", value: "number", doc: "On which port (8000; AGENT_SERVER_PORT); 0 takes any and prints it." },
    {
      name: "config",
      value: "path",
      doc: "JSON file with the key, CORS origins, webhooks and where conversations are kept (agent_server.json, where there is one).",
    },
  ],
  details:
    "Prints `agent-server ready <address>` when it serves. Its agents run commands as you, in the directory that a conversation names: use it inside a sandbox. Without AGENT_SERVER_API_KEY it listens on loopback only. See docs/AGENT-SERVER.md.",
  async run(context, args) {
    takePositionals(agentServer, args, 0, 0);
    const given = { host: args.get("host"), port: args.get("port"), file: args.get("config") };
    const settings = resolveSettings(given, context.env, context.cwd);
    const { startAgentServer } = await import("../agent-server/serve.ts");
    const server = await startAgentServer(settings);
    for (const path of server.unreadable)
      context.warn(`drover: ${path} cannot be read; that conversation is left out.`);
    context.print(args.has("json") ? JSON.stringify({ url: server.url }) : `agent-server ready ${server.url}`);
    await new Promise<void>((done) => {
      if (context.signal.aborted) done();
      else context.signal.addEventListener("abort", () => done(), { once: true });
    });
    await server.close();
    return EXIT.ok;
  },
};
