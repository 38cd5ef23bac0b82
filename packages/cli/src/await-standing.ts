/** Waits until a sandbox that is being made stands, so that a command may follow the one that made it. */
import type { Client } from "@drover/client";
import type { Context } from "./verb.ts";

const LOOK_MS = 250;
const IN_THE_MAKING: ReadonlySet<string> = new Set(["pending", "creating"]);

/** Whoever runs an external one decides when it begins; nobody waits for that. */
export async function awaitStanding(context: Context, client: Client, sandbox_id: string): Promise<void> {
  for (let looks = 0; ; looks += 1) {
    const { state, provider } = await client.getSandbox({ params: { sandbox_id } }, { signal: context.signal });
    if (provider === "external" || !IN_THE_MAKING.has(state)) return;
    if (looks === 0) context.warn(`drover: ${sandbox_id} is being made`);
    await context.wait(LOOK_MS);
    context.signal.throwIfAborted();
  }
}
