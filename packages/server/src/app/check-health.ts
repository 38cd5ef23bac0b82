/** The health of all running agents: computed at every measurement, told in the log when it changes. */
import { decideSystemHealth, listHealthAlerts } from "@drover/core";
import type { Db } from "../ports/db.ts";
import { listStanding } from "../store/analyses.ts";
import type { Deps } from "./deps.ts";
import { draftEvent, type EventDraft } from "./event-log.ts";

const FRESH_SECONDS = 600;
const MOST = 1_000;
/** As long as nobody was judged there is nothing to tell. */
const UNTOLD: ReadonlySet<string> = new Set(["no_activity", "unknown"]);

export async function tellHealth(
  tx: Db,
  deps: Deps,
  before: string | null,
): Promise<{ health: string | null; events: readonly EventDraft[] }> {
  const rows = await listStanding(tx, null, FRESH_SECONDS, MOST);
  const alignments = rows.flatMap((row) => row.verdict?.alignment_score ?? []);
  const needSteering = rows.filter((row) => row.verdict?.needs_steering === true).length;
  const health = decideSystemHealth(rows.length, alignments, needSteering);
  const told = UNTOLD.has(health) ? null : health;
  if (told === before) return { health: told, events: [] };
  const average = alignments.length === 0 ? null : alignments.reduce((sum, one) => sum + one, 0) / alignments.length;
  const event = draftEvent(
    deps.ids,
    { type: "monitoring_loop", id: "health", projectId: null },
    {
      eventType: "monitoring.health.check",
      data: {
        system_health: health,
        active_agents: rows.length,
        average_alignment: average,
        agents_need_steering: needSteering,
        alerts: [...listHealthAlerts(rows.length, health, average)],
      },
    },
  );
  return { health: told, events: [event] };
}
