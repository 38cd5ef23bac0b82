/** What so many tasks are expected to cost. */
import { forecastCost, pickPrice } from "@drover/core";
import type { CostForecast, CostForecastRequest } from "@drover/contract";
import { measureTaskTokens } from "../store/costs.ts";
import type { Person } from "./credential.ts";
import type { Deps } from "./deps.ts";

const DEFAULT_TOKENS = 5_000;
/** Fewer finished tasks say little about the next one. */
const ENOUGH_TASKS = 5;

async function toTokens(deps: Deps, actor: Person, given: number | undefined) {
  if (given !== undefined) return { tokens: given, origin: "given" as const };
  const { tasks, tokens } = await measureTaskTokens.one(deps.db, actor.grant.projectId);
  return tasks >= ENOUGH_TASKS && tokens !== null && tokens > 0
    ? { tokens, origin: "measured" as const }
    : { tokens: DEFAULT_TOKENS, origin: "default" as const };
}

export async function forecastCosts(deps: Deps, actor: Person, request: CostForecastRequest): Promise<CostForecast> {
  const { tokens, origin } = await toTokens(deps, actor, request.avg_tokens_per_task);
  // Vendors write 4-5 where people write 4.5.
  const price =
    pickPrice(await deps.models.listPrices(), request.model) ??
    pickPrice(await deps.models.listPrices(), request.model.replaceAll(".", "-"));
  const forecast = forecastCost(price, request.pending_task_count, tokens);
  return {
    pending_task_count: request.pending_task_count,
    avg_tokens_per_task: tokens,
    avg_tokens_origin: origin,
    provider: request.provider,
    model: request.model,
    buffer_multiplier: forecast.buffer,
    estimated_tokens: forecast.tokens,
    estimated_cost: forecast.usd,
  };
}
