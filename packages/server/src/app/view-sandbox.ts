/** A sandbox's row as the wire shows it. */
import { decideHealth, hidePassword } from "@drover/core";
import type { Sandbox } from "@drover/contract";
import type { SandboxRow } from "../store/sandboxes.ts";
import { listQuiet } from "../store/supervision.ts";
import type { Deps } from "./deps.ts";
import { toWatchLimits } from "./watch-limits.ts";

const iso = (date: Date | null) => date?.toISOString() ?? null;

export const toSandbox = (
  row: SandboxRow,
  { clock, config }: Pick<Deps, "clock" | "config">,
  quiet?: "idle" | "stuck",
): Sandbox => ({
  id: row.id,
  project_id: row.project_id,
  task_id: row.task_id,
  state: row.state,
  state_cause: row.state_cause,
  generation: row.generation,
  provider: row.provider,
  provider_id: row.provider_id,
  runtime: row.runtime,
  model: row.model,
  prompt: row.prompt,
  repo: row.repo === null ? null : hidePassword(row.repo),
  base_branch: row.base_branch,
  branch: row.branch,
  labels: row.labels,
  network: row.network,
  resources: row.provider === "external" ? null : row.resources,
  enforced_by: row.enforced_by,
  health: decideHealth(row.state, row.last_contact_at, clock.now(), toWatchLimits(config), quiet),
  cost_usd: row.priced_calls === 0 && row.unpriced_calls > 0 ? null : row.cost_usd,
  unpriced_calls: row.unpriced_calls,
  tokens: {
    input: row.input_tokens,
    output: row.output_tokens,
    cache_read: row.cache_read_tokens,
    cache_write: row.cache_write_tokens,
    total: row.input_tokens + row.output_tokens + row.cache_read_tokens + row.cache_write_tokens,
  },
  budget_usd: typeof row.spec["budget_usd"] === "number" ? row.spec["budget_usd"] : null,
  turn: row.turn,
  event_count: row.last_sandbox_seq,
  last_seq: row.last_seq,
  last_event_type: row.last_event_type,
  last_event_at: iso(row.last_event_at),
  last_heartbeat_at: iso(row.last_heartbeat_at),
  created_at: row.created_at.toISOString(),
  started_at: iso(row.started_at),
  ended_at: iso(row.ended_at),
});

async function findQuiet({ db }: Pick<Deps, "db">, rows: readonly SandboxRow[]) {
  const running = rows.filter(({ state }) => state === "running").map(({ id }) => id);
  const found = running.length === 0 ? [] : await listQuiet(db, running);
  return new Map(found.map((one) => [one.sandbox_id, one.condition]));
}

/** With what supervision found of them. */
export async function viewSandboxes(deps: Deps, rows: readonly SandboxRow[]): Promise<Sandbox[]> {
  const quiet = await findQuiet(deps, rows);
  return rows.map((row) => toSandbox(row, deps, quiet.get(row.id)));
}

export const viewSandbox = async (deps: Deps, row: SandboxRow): Promise<Sandbox> =>
  toSandbox(row, deps, (await findQuiet(deps, [row])).get(row.id));
