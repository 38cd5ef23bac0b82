/** Looks for runs that behave unlike the others, and asks the judge about them. */
import { randomBytes } from "node:crypto";
import { CRITICAL_SCORE, scoreAnomalies, type AnomalyState } from "@drover/core";
import { AppError, type Anomaly, type AnomalyId, type SandboxId } from "@drover/contract";
import { z } from "zod";
import {
  acknowledgeAnomaly,
  askJudgeSoon,
  insertAnomaly,
  listAnomalies,
  listReadings,
  loadAnomaly,
  saveReading,
  type AnomalyRow,
} from "../store/anomalies.ts";
import { lockSandboxes } from "../store/sandboxes.ts";
import type { Person } from "./credential.ts";
import { parseCursor } from "./cursor.ts";
import type { Deps } from "./deps.ts";
import { draftSandboxEvent, writeWithEvents } from "./event-log.ts";

const LATELY_SECONDS = 300;
const MOST = 500;
const HOUR_MS = 3_600_000;
const Position = z
  .string()
  .regex(/^\d{1,15}$/)
  .transform(Number);

export async function findAnomaliesOnce(deps: Deps): Promise<{ found: number }> {
  const rows = await listReadings(deps.db, LATELY_SECONDS, MOST);
  const scores = scoreAnomalies(rows.map((row) => ({ ...row, before: row.before as AnomalyState | null })));
  let found = 0;
  for (const { id, score, parts, state, isNew } of scores) {
    const sandboxId = id as SandboxId;
    await saveReading(deps.db, sandboxId, { ...state });
    if (!isNew) continue;
    found += 1;
    const anomalyId = `ano-${randomBytes(6).toString("hex")}` as AnomalyId;
    const severity = score >= CRITICAL_SCORE ? "critical" : "warning";
    await writeWithEvents(deps, async (tx, append) => {
      const [sandbox] = await lockSandboxes(tx, [sandboxId]);
      if (sandbox === undefined) return;
      await insertAnomaly.one(tx, {
        id: anomalyId,
        sandbox_id: sandboxId,
        score,
        severity,
        parts,
        readings: state.streak,
      });
      await askJudgeSoon(tx, sandboxId);
      const data = { anomaly_id: anomalyId, score, severity, parts: { ...parts } };
      await append([draftSandboxEvent(deps.ids, sandbox, { eventType: "monitoring.anomaly.detected", data })]);
    });
  }
  return { found };
}

const toAnomaly = ({ position: _position, created_at, acknowledged_at, ...row }: AnomalyRow): Anomaly => ({
  ...row,
  created_at: created_at.toISOString(),
  acknowledged_at: acknowledged_at?.toISOString() ?? null,
});

export async function pageAnomalies(
  deps: Deps,
  actor: Person,
  query: { limit: number; cursor?: string | undefined; hours: number; severity?: string | undefined },
) {
  const rows = await listAnomalies(deps.db, {
    projectId: actor.grant.projectId,
    since: new Date(deps.clock.now().getTime() - query.hours * HOUR_MS),
    severity: query.severity,
    before: parseCursor(Position, query.cursor),
    limit: query.limit + 1,
  });
  const items = rows.slice(0, query.limit);
  const next_cursor = rows.length > query.limit ? String(items.at(-1)?.position ?? "") : null;
  return { items: items.map(toAnomaly), next_cursor };
}

export async function acknowledge(deps: Deps, actor: Person, id: AnomalyId): Promise<Anomaly> {
  const known = await loadAnomaly.maybe(deps.db, id);
  const mine = actor.grant.projectId;
  if (known === undefined || (mine !== null && known.project_id !== mine)) throw new AppError("anomaly.not_found");
  return toAnomaly(await acknowledgeAnomaly.one(deps.db, id, actor.tokenId));
}
