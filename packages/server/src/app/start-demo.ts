/** A sandbox for a first look, without a key: the scripted agent plays its demo, or the real Claude works on recorded answers. */
import { AppError, type ProjectId, type Sandbox } from "@drover/contract";
import type { Person } from "./credential.ts";
import type { RequestKey } from "./create-once.ts";
import type { Deps } from "./deps.ts";
import { createSandbox } from "./manage-sandboxes.ts";

const PROMPT = "Compute binomial coefficients: write binomial.mjs, test it, and make it exact.";

/** Recorded from the scripted model of the tests; the label says so wherever the run is shown. */
const CLAUDE_DEMO = {
  runtime: "claude",
  model: "claude-sonnet-4-5",
  prompt: "Compute C(50,25): write binomial.mjs, run it, and mend what is wrong.",
  labels: { demo: "true", model: "recorded answers" },
  cassette: "claude-demo",
} as const;
const SCRIPTED_DEMO = { runtime: "scripted", prompt: PROMPT, labels: { demo: "true" } } as const;

export async function startDemo(
  deps: Deps,
  actor: Person,
  body: { readonly project_id?: ProjectId | undefined; readonly runtime?: "scripted" | "claude" | undefined },
  key: RequestKey | undefined,
): Promise<Sandbox> {
  if (!deps.config.demo)
    throw new AppError("runtime.unavailable", "the demo is switched off on this server (DROVER_DEMO=false)");
  const input = body.runtime === "claude" ? CLAUDE_DEMO : SCRIPTED_DEMO;
  return createSandbox(
    deps,
    actor,
    body.project_id === undefined ? input : { ...input, project_id: body.project_id },
    key,
  );
}
