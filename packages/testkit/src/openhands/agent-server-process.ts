/** The agent server as people start it: `drover agent-server` in a process of its own, so that it can be killed. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";

const MAIN = join(import.meta.dirname, "../../../cli/src/main.ts");

/** The session key of those servers. */
export const SESSION_KEY = "a-session-key";

export interface AgentServerProcess {
  readonly url: string;
  stop(): Promise<number | null>;
  kill(): Promise<number | null>;
}

export async function startAgentServerProcess(
  cwd: string,
  config: Readonly<Record<string, unknown>> = {},
): Promise<AgentServerProcess> {
  const file = join(cwd, "agent_server.json");
  await writeFile(file, JSON.stringify({ conversations_path: "kept", ...config }));
  const argv = ["agent-server", "--host", "127.0.0.1", "--port", "0", "--config", file];
  const env = { PATH: process.env.PATH, HOME: cwd, AGENT_SERVER_API_KEY: SESSION_KEY };
  const child = spawn(process.execPath, [MAIN, ...argv], { cwd, env, stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "exit");
  const end = async (signal: NodeJS.Signals) => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    return (await ended)[0] as number | null;
  };
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /^agent-server ready (\S+)$/.exec(line)?.[1];
    if (url !== undefined) return { url, stop: () => end("SIGTERM"), kill: () => end("SIGKILL") };
  }
  throw new Error("the agent server ended before it was ready");
}

export async function callAgentServer(url: string, method: string, path: string, body?: unknown, key = SESSION_KEY) {
  const headers = { "content-type": "application/json", ...(key === "" ? {} : { "x-session-api-key": key }) };
  const answer = await fetch(url + path, {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: JSON.parse(await answer.text()) };
}
