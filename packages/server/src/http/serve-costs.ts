/** Which use case answers the endpoints of costs, budgets, prices and upstreams. */
import type { costEndpoints } from "@drover/contract";
import {
  changeBudget,
  checkBudgets,
  createBudget,
  getBudget,
  pageBudgets,
  removeBudget,
} from "../app/manage-budgets.ts";
import {
  readPrices,
  readUpstreams,
  removePrice,
  removeUpstream,
  setPrice,
  setUpstream,
} from "../app/manage-model-settings.ts";
import { estimateCost } from "../app/estimate-cost.ts";
import { forecastCosts } from "../app/forecast-costs.ts";
import { pageCosts, readBreakdown, summariseCosts } from "../app/read-costs.ts";
import { person, type Handlers } from "./context.ts";

export const costHandlers: Pick<Handlers, keyof typeof costEndpoints> = {
  listCosts: (context, { query }) => pageCosts(context.deps, person(context), query),
  summariseCosts: (context, { query }) => summariseCosts(context.deps, person(context), query),
  breakDownCosts: (context, { query }) => readBreakdown(context.deps, person(context), query),
  forecastCosts: (context, { body }) => forecastCosts(context.deps, person(context), body),
  estimateCost: (context, { query }) => estimateCost(context.deps, person(context), query),
  listBudgets: (context, { query }) => pageBudgets(context.deps, person(context), query),
  createBudget: (context, { body }) => createBudget(context.deps, person(context), body, context.requestKey),
  getBudget: (context, { params }) => getBudget(context.deps, person(context), params.budget_id),
  changeBudget: (context, { params, body }) => changeBudget(context.deps, person(context), params.budget_id, body),
  deleteBudget: (context, { params }) => removeBudget(context.deps, person(context), params.budget_id),
  checkBudgets: (context, { query }) => checkBudgets(context.deps, person(context), query),
  listCostBudgets: (context, { query }) => pageBudgets(context.deps, person(context), query),
  createCostBudget: (context, { body }) => createBudget(context.deps, person(context), body, context.requestKey),
  listPrices: (context) => readPrices(context.deps),
  putPrice: (context, { body }) => setPrice(context.deps, person(context), body),
  deletePrice: (context, { params }) => removePrice(context.deps, person(context), params.model),
  listUpstreams: (context) => readUpstreams(context.deps, person(context)),
  putUpstream: (context, { params, body }) => setUpstream(context.deps, person(context), params.protocol, body),
  deleteUpstream: (context, { params }) => removeUpstream(context.deps, person(context), params.protocol),
};
