/** A sandbox in which the built-in scripted agent plays its demo. */
import { AppError, type ProjectId, type Sandbox } from "@drover/contract";
import type { Person } from "./credential.ts";
import type { RequestKey } from "./create-once.ts";
import type { Deps } from "./deps.ts";
import { createSandbox } from "./manage-sandboxes.ts";

const PROMPT = "Compute binomial coefficients: write binomial.mjs, test it, and make it exact.";

export async function startDemo(
  deps: Deps,
  actor: Person,
  projectId: ProjectId | undefined,
  key: RequestKey | undefined,
): Promise<Sandbox> {
  if (!deps.config.demo)
    throw new AppError("runtime.unavailable", "the demo is switched off on this server (DROVER_DEMO=false)");
  const input = { runtime: "scripted", prompt: PROMPT, labels: { demo: "true" } };
  return createSandbox(deps, actor, projectId === undefined ? input : { ...input, project_id: projectId }, key);
}
