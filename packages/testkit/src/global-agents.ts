/** Fetches the agents from npm while tests that need none have the processors; named as `globalSetup` of the tests that need them. */
import { AGENT_PINS, type AgentName } from "@drover/contract";
import { ensureAgent } from "./ensure-agent.ts";

let isOver = false;
let fetching: Promise<void> | undefined;

async function fetchAll(): Promise<void> {
  for (const name of Object.keys(AGENT_PINS) as AgentName[]) {
    if (isOver) return;
    // Expected: no network. The tests that need it try again, and say so.
    await ensureAgent(name).catch(() => undefined);
  }
}

export function setup(): void {
  fetching = fetchAll();
}

export async function teardown(): Promise<void> {
  isOver = true;
  await fetching;
}
