/** What one more run is likely to cost and take: from the runs most like it that are over, or not at all. */
import { pickPrice } from "@drover/core";
import type { CostEstimate, CostEstimateQuery, ProjectId } from "@drover/contract";
import { measureRuns, type RunsLike } from "../store/cost-estimates.ts";
import type { Person } from "./credential.ts";
import type { Deps } from "./deps.ts";
import { readPrices } from "./manage-model-settings.ts";
import { pickProject } from "./manage-projects.ts";

/** Two runs are an anecdote. */
const ENOUGH = 3;

/** From the narrowest to the widest; what a person did not say is no likeness. */
function toLikenesses(projectId: ProjectId, { runtime, model }: CostEstimateQuery): [RunsLike, ...RunsLike[]] {
  const [here, anywhere] = [
    { projectId, runtime, model: null },
    { projectId: null, runtime, model: null },
  ];
  return model === undefined ? [here, anywhere] : [{ ...here, model }, { ...anywhere, model }, here, anywhere];
}

const toSpread = (half: number | null, most: number | null) => (half === null || most === null ? null : { half, most });

export async function estimateCost(deps: Deps, actor: Person, query: CostEstimateQuery): Promise<CostEstimate> {
  const projectId = await pickProject(deps, actor, query.project_id);
  const [narrowest, ...wider] = toLikenesses(projectId, query);
  let like = narrowest;
  let measured = await measureRuns.one(deps.db, actor.grant.projectId, like);
  for (const next of wider) {
    if (measured.runs >= ENOUGH) break;
    like = next;
    measured = await measureRuns.one(deps.db, actor.grant.projectId, like);
  }
  const { model } = query;
  const price = model === undefined ? undefined : pickPrice((await readPrices(deps)).items, model);
  const isEnough = measured.runs >= ENOUGH;
  return {
    runs: measured.runs,
    enough: ENOUGH,
    alike: { project: like.projectId !== null, runtime: true, model: like.model !== null },
    cost_usd: isEnough ? toSpread(measured.usd_half, measured.usd_most) : null,
    tokens: isEnough ? toSpread(measured.tokens_half, measured.tokens_most) : null,
    seconds: isEnough ? toSpread(measured.seconds_half, measured.seconds_most) : null,
    unpriced_runs: measured.unpriced,
    price: price ?? null,
  };
}
