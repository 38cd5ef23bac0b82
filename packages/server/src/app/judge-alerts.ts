/** Lets alert rules fire and end by what was just measured, in the transaction that measures: once, whoever measures. */
import { randomBytes } from "node:crypto";
import { decideAlert } from "@drover/core";
import type { AlertId, JsonObject } from "@drover/contract";
import type { Db } from "../ports/db.ts";
import {
  clearBreach,
  insertAlert,
  insertDelivery,
  listRules,
  listRuleStandings,
  loadAlert,
  noteBreach,
  resolveAlert,
  type AlertRow,
  type RuleRow,
} from "../store/alerts.ts";
import type { Figure } from "../store/metrics.ts";
import type { Deps } from "./deps.ts";
import { draftEvent, type EventDraft } from "./event-log.ts";

const MOST_RULES = 10_000;

export interface Told {
  readonly events: readonly EventDraft[];
  /** Done once all this is committed. */
  readonly afterwards: readonly (() => void)[];
}

const toData = (alert: AlertRow, rule: RuleRow): JsonObject => ({
  alert_id: alert.id,
  rule_id: alert.rule_id,
  name: alert.name,
  metric: alert.metric,
  severity: alert.severity,
  state: alert.state,
  value: alert.value,
  comparison: rule.comparison,
  threshold: alert.threshold,
  started_at: alert.started_at.toISOString(),
  resolved_at: alert.resolved_at?.toISOString() ?? null,
});

/** The log and the browser hear of it by what follows; a webhook's message is kept until it has arrived. */
async function tell(tx: Db, deps: Deps, rule: RuleRow, alertId: AlertId, kind: "fired" | "resolved"): Promise<Told> {
  const alert = await loadAlert.one(tx, alertId);
  const data = toData(alert, rule);
  const heard = alert.is_quiet ? [] : rule.channels;
  const isDesktop = heard.some((channel) => channel.kind === "desktop");
  for (const channel of heard) {
    if (channel.kind !== "webhook") continue;
    const id = `dlv-${randomBytes(6).toString("hex")}`;
    const timestamp = deps.clock.now().toISOString();
    const body = JSON.stringify({ type: `alert.${kind}`, timestamp, data });
    await insertDelivery(tx, { id, alertId, kind, url: channel.url, secret: rule.sealed_secret, body });
  }
  const logs = heard.filter((channel) => channel.kind === "log");
  return {
    events: [
      draftEvent(
        deps.ids,
        { type: "alert", id: alertId, projectId: rule.project_id },
        { eventType: `alert.${kind}`, data: { ...data, desktop: isDesktop, is_quiet: alert.is_quiet } },
      ),
    ],
    afterwards: [
      ...logs.map(() => () => deps.log.warn(`alert.${kind}`, { alert: alertId, name: rule.name, value: alert.value })),
      () => deps.wake("deliver-alerts"),
    ],
  };
}

export async function judgeAlerts(tx: Db, deps: Deps, figures: readonly Figure[], now: Date): Promise<Told> {
  const rules = new Map((await listRules(tx, null, undefined, MOST_RULES)).map((rule) => [rule.id, rule]));
  const told: Told[] = [];
  for (const standing of await listRuleStandings(tx)) {
    const rule = rules.get(standing.id);
    if (rule === undefined) continue;
    const value = figures.find(
      ({ metric, scope }) => metric === rule.metric && scope === (rule.project_id ?? ""),
    )?.value;
    const condition = { ...rule, forMs: rule.for_seconds * 1_000, coolDownMs: rule.cool_down_seconds * 1_000 };
    const act = decideAlert(
      condition,
      {
        value,
        sinceMs: standing.since?.getTime() ?? null,
        isFiring: standing.firing !== null,
        toldMs: standing.told_at?.getTime() ?? null,
      },
      now.getTime(),
    );
    if (act.kind === "wait") await noteBreach(tx, rule.id, now);
    else if (standing.since !== null) await clearBreach(tx, rule.id);
    if (act.kind === "fire" && value !== undefined) {
      const id = `alr-${randomBytes(6).toString("hex")}` as AlertId;
      await insertAlert(tx, id, rule.id, value, act.isQuiet, now);
      told.push(await tell(tx, deps, rule, id, "fired"));
    }
    if (act.kind === "resolve" && standing.firing !== null) {
      await resolveAlert(tx, standing.firing, now);
      told.push(await tell(tx, deps, rule, standing.firing, "resolved"));
    }
  }
  return {
    events: told.flatMap(({ events }) => events),
    afterwards: told.flatMap(({ afterwards }) => afterwards),
  };
}
