/** What one more run is likely to cost, told from those that are over. */
import { z } from "zod";
import { ProjectId } from "../ids.ts";
import { Price } from "./cost.ts";
import { RuntimeName } from "./sandbox.ts";

export const CostEstimateQuery = z.strictObject({
  project_id: ProjectId.optional(),
  runtime: RuntimeName,
  model: z.string().min(1).max(200).optional(),
});
export type CostEstimateQuery = z.infer<typeof CostEstimateQuery>;

/** Half of the runs stay at or below the first, nine of ten at or below the second. */
const Spread = z.object({ half: z.number().nonnegative(), most: z.number().nonnegative() });

export const CostEstimate = z.object({
  /** How many runs it is told from; below `enough` nothing is told. */
  runs: z.int().nonnegative(),
  enough: z.int().positive(),
  /** In what those runs are like the one asked about. The narrowest likeness that enough runs have. */
  alike: z.object({ project: z.boolean(), runtime: z.boolean(), model: z.boolean() }),
  /** Null: too few runs, or none of them with a known price. */
  cost_usd: Spread.nullable(),
  tokens: Spread.nullable(),
  seconds: Spread.nullable(),
  /** Runs among them that used a model without a price; their cost is not in the figures. */
  unpriced_runs: z.int().nonnegative(),
  /** Of the model, where one was named and its price is known. */
  price: Price.nullable(),
});
export type CostEstimate = z.infer<typeof CostEstimate>;
