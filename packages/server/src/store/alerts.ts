/** Alert rules, what fired, and what goes to webhooks. */
import { Alert, AlertId, AlertRule, AlertRuleId, MetricName, ProjectId } from "@drover/contract";
import { z } from "zod";
import { command, query } from "./query.ts";
import { empty, json, sql } from "./sql.ts";

const SAMPLE_RULE = "rule-000000000000" as AlertRuleId;
const SAMPLE_ALERT = "alr-000000000000" as AlertId;

const { name, metric, comparison, threshold, for_seconds, cool_down_seconds, severity, channels, enabled } =
  AlertRule.shape;
const RuleRow = z.object({
  id: AlertRuleId,
  position: z.number(),
  project_id: ProjectId.nullable(),
  name,
  metric,
  comparison,
  threshold,
  for_seconds,
  cool_down_seconds,
  severity,
  channels,
  enabled,
  sealed_secret: z.instanceof(Uint8Array).nullable(),
  created_by: z.string(),
  created_at: z.date(),
  updated_at: z.date(),
});
export type RuleRow = z.infer<typeof RuleRow>;

const ruleColumns = sql`id, position, project_id, name, metric, comparison, threshold, for_seconds, cool_down_seconds, severity, channels,
  enabled, sealed_secret, created_by, created_at, updated_at`;

export type RuleDraft = Omit<RuleRow, "position" | "created_at" | "updated_at" | "sealed_secret"> & {
  readonly sealed_secret: Uint8Array | null;
};

const SAMPLE_DRAFT: RuleDraft = {
  id: SAMPLE_RULE,
  project_id: null,
  name: "a",
  metric: "tokens",
  comparison: "above",
  threshold: 1,
  for_seconds: 0,
  cool_down_seconds: 0,
  severity: "warning",
  channels: [],
  enabled: true,
  sealed_secret: null,
  created_by: "a",
};

/** Made, or changed in everything but who made it and where it belongs. */
export const putRule = query(
  "alert_rules.put",
  RuleRow,
  [SAMPLE_DRAFT],
  (one: RuleDraft) => sql`
  insert into alert_rules (id, project_id, name, metric, comparison, threshold, for_seconds, cool_down_seconds, severity, channels, enabled,
    sealed_secret, created_by)
  values (${one.id}, ${one.project_id}, ${one.name}, ${one.metric}, ${one.comparison}, ${one.threshold}::float8, ${one.for_seconds}::int,
    ${one.cool_down_seconds}::int, ${one.severity}, ${json(one.channels)}::jsonb, ${one.enabled}, ${one.sealed_secret}, ${one.created_by})
  on conflict (id) do update set name = excluded.name, metric = excluded.metric, comparison = excluded.comparison,
    threshold = excluded.threshold, for_seconds = excluded.for_seconds, cool_down_seconds = excluded.cool_down_seconds,
    severity = excluded.severity, channels = excluded.channels, enabled = excluded.enabled, sealed_secret = excluded.sealed_secret,
    updated_at = now()
  returning ${ruleColumns}`,
);

export const loadRule = query(
  "alert_rules.load",
  RuleRow,
  [SAMPLE_RULE],
  (id: AlertRuleId) => sql`select ${ruleColumns} from alert_rules where id = ${id}`,
);

export const deleteRule = command(
  "alert_rules.delete",
  [SAMPLE_RULE],
  (id: AlertRuleId) => sql`delete from alert_rules where id = ${id}`,
);

/** Of a project with those of all, or every one. */
export const listRules = query(
  "alert_rules.list",
  RuleRow,
  [null, undefined, 10],
  (projectId: string | null, before: number | undefined, limit: number) => sql`
  select ${ruleColumns} from alert_rules where true
    ${projectId === null ? empty : sql`and (project_id = ${projectId} or project_id is null)`}
    ${before === undefined ? empty : sql`and position < ${before}`}
  order by position desc limit ${limit}`,
);

/** What is known of each rule that is switched on. */
export const listRuleStandings = query(
  "alert_rules.standings",
  z.object({
    id: AlertRuleId,
    since: z.date().nullable(),
    firing: AlertId.nullable(),
    told_at: z.date().nullable(),
  }),
  [],
  () => sql`
  select r.id, s.since, a.id as firing, (select max(t.started_at) from alerts t where t.rule_id = r.id and not t.is_quiet) as told_at
  from alert_rules r left join alert_states s on s.rule_id = r.id left join alerts a on a.rule_id = r.id and a.state = 'firing'
  where r.enabled limit 10000`,
);

export const noteBreach = command(
  "alert_states.note",
  [SAMPLE_RULE, new Date(0)],
  (id: AlertRuleId, at: Date) => sql`
  insert into alert_states (rule_id, since) select id, ${at}::timestamptz from alert_rules where id = ${id} on conflict do nothing`,
);

export const clearBreach = command(
  "alert_states.clear",
  [SAMPLE_RULE],
  (id: AlertRuleId) => sql`delete from alert_states where rule_id = ${id}`,
);

const AlertRow = z.object({
  id: AlertId,
  position: z.number(),
  rule_id: AlertRuleId,
  name: z.string(),
  project_id: ProjectId.nullable(),
  metric: MetricName,
  severity: Alert.shape.severity,
  state: Alert.shape.state,
  value: z.number(),
  threshold: z.number(),
  is_quiet: z.boolean(),
  started_at: z.date(),
  resolved_at: z.date().nullable(),
  acknowledged_at: z.date().nullable(),
  acknowledged_by: z.string().nullable(),
  deliveries: Alert.shape.deliveries,
});
export type AlertRow = z.infer<typeof AlertRow>;

const alertColumns = sql`a.id, a.position, a.rule_id, a.name, a.project_id, a.metric, a.severity, a.state, a.value, a.threshold, a.is_quiet,
  a.started_at, a.resolved_at, a.acknowledged_at, a.acknowledged_by,
  coalesce((select jsonb_agg(jsonb_build_object('kind', d.kind, 'url', d.url, 'status', d.status, 'attempts', d.attempts, 'error', d.error)
    order by d.created_at, d.id) from alert_deliveries d where d.alert_id = a.id), '[]') as deliveries`;

export const insertAlert = command(
  "alerts.insert",
  [SAMPLE_ALERT, SAMPLE_RULE, 1, false, new Date(0)],
  (id: AlertId, ruleId: AlertRuleId, value: number, isQuiet: boolean, at: Date) => sql`
  insert into alerts (id, rule_id, name, project_id, metric, severity, state, value, threshold, is_quiet, started_at)
  select ${id}, r.id, r.name, r.project_id, r.metric, r.severity, 'firing', ${value}::float8, r.threshold, ${isQuiet}, ${at}
  from alert_rules r where r.id = ${ruleId}`,
);

export const resolveAlert = command(
  "alerts.resolve",
  [SAMPLE_ALERT, new Date(0)],
  (id: AlertId, at: Date) =>
    sql`update alerts set state = 'resolved', resolved_at = ${at} where id = ${id} and state = 'firing'`,
);

export const loadAlert = query(
  "alerts.load",
  AlertRow,
  [SAMPLE_ALERT],
  (id: AlertId) => sql`select ${alertColumns} from alerts a where a.id = ${id}`,
);

/** The first acknowledgement stays. */
export const acknowledgeAlert = command(
  "alerts.acknowledge",
  [SAMPLE_ALERT, "tok-000000000000"],
  (id: AlertId, by: string) => sql`
  update alerts set acknowledged_at = coalesce(acknowledged_at, now()), acknowledged_by = coalesce(acknowledged_by, ${by}) where id = ${id}`,
);

export const listAlerts = query(
  "alerts.list",
  AlertRow,
  [{ projectId: null, state: undefined, before: undefined, limit: 10 }],
  (by: {
    readonly projectId: string | null;
    readonly state: string | undefined;
    readonly before: number | undefined;
    readonly limit: number;
  }) => sql`
  select ${alertColumns} from alerts a where true
    ${by.projectId === null ? empty : sql`and (a.project_id = ${by.projectId} or a.project_id is null)`}
    ${by.state === undefined ? empty : sql`and a.state = ${by.state}`}
    ${by.before === undefined ? empty : sql`and a.position < ${by.before}`}
  order by a.position desc limit ${by.limit}`,
);

export const insertDelivery = command(
  "alert_deliveries.insert",
  [{ id: "dlv-000000000000", alertId: SAMPLE_ALERT, kind: "fired", url: "https://a", secret: null, body: "{}" }],
  (one: {
    readonly id: string;
    readonly alertId: AlertId;
    readonly kind: "fired" | "resolved";
    readonly url: string;
    readonly secret: Uint8Array | null;
    readonly body: string;
  }) => sql`
  insert into alert_deliveries (id, alert_id, channel, kind, url, sealed_secret, body)
  values (${one.id}, ${one.alertId}, 'webhook', ${one.kind}, ${one.url}, ${one.secret}, ${one.body})`,
);

/** Due ones, put off at once: a replica that dies leaves them to the next look. */
export const claimDeliveries = query(
  "alert_deliveries.claim",
  z.object({
    id: z.string(),
    url: z.string(),
    sealed_secret: z.instanceof(Uint8Array).nullable(),
    body: z.string(),
    attempts: z.number(),
  }),
  [new Date(0), 60, 10],
  (now: Date, leaseSeconds: number, limit: number) => sql`
  update alert_deliveries set attempts = attempts + 1, next_at = ${now}::timestamptz + make_interval(secs => ${leaseSeconds})
  where id in (select id from alert_deliveries where status = 'pending' and next_at <= ${now} order by next_at limit ${limit}
    for update skip locked)
  returning id, url, sealed_secret, body, attempts`,
);

export const settleDelivery = command(
  "alert_deliveries.settle",
  ["dlv-000000000000", "pending", null, new Date(0)],
  (id: string, status: "pending" | "delivered" | "failed", error: string | null, nextAt: Date) => sql`
  update alert_deliveries set status = ${status}, error = ${error}, next_at = ${nextAt} where id = ${id}`,
);
