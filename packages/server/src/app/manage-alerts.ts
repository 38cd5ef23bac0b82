/** Alert rules: made, read, changed, taken away; and what they fired. */
import { randomBytes } from "node:crypto";
import {
  AppError,
  type Alert,
  type AlertChannel,
  type AlertId,
  type AlertRule,
  type AlertRuleChange,
  type AlertRuleId,
  type NewAlertRule,
} from "@drover/contract";
import { insertAudit } from "../store/audit.ts";
import {
  acknowledgeAlert,
  deleteRule,
  listAlerts,
  listRules,
  listRuleStandings,
  loadAlert,
  loadRule,
  putRule,
  resolveAlert,
  type AlertRow,
  type RuleDraft,
  type RuleRow,
} from "../store/alerts.ts";
import { createOnce, type RequestKey } from "./create-once.ts";
import type { Person } from "./credential.ts";
import { parsePosition, toPage } from "./cursor.ts";
import type { Deps } from "./deps.ts";
import { locateProject } from "./locate.ts";

interface Paged {
  readonly limit: number;
  readonly cursor?: string | undefined;
}

const toRule = ({ position: _position, sealed_secret, created_at, updated_at, ...row }: RuleRow): AlertRule => ({
  ...row,
  has_secret: sealed_secret !== null,
  created_at: created_at.toISOString(),
  updated_at: updated_at.toISOString(),
});

const toAlert = ({ position: _position, started_at, resolved_at, acknowledged_at, ...row }: AlertRow): Alert => ({
  ...row,
  started_at: started_at.toISOString(),
  resolved_at: resolved_at?.toISOString() ?? null,
  acknowledged_at: acknowledged_at?.toISOString() ?? null,
});

/** Said when somebody names the address, and not only when something is to be told. */
function requireReachable(deps: Deps, channels: readonly AlertChannel[]): void {
  for (const channel of channels) {
    const complaint = channel.kind === "webhook" ? deps.webhooks.findComplaint(channel.url) : undefined;
    if (complaint !== undefined)
      throw new AppError("request.invalid", `channels: ${complaint}`, {
        fields: [{ path: "channels", message: complaint }],
      });
  }
}

/** Rules of all projects are seen by everybody and changed by those who may do so everywhere. */
async function requireRule(deps: Deps, actor: Person, id: AlertRuleId, isChange: boolean): Promise<RuleRow> {
  const row = await loadRule.maybe(deps.db, id);
  const mine = actor.grant.projectId;
  if (row === undefined || (mine !== null && row.project_id !== null && row.project_id !== mine))
    throw new AppError("alert_rule.not_found");
  if (isChange && mine !== null && row.project_id === null)
    throw new AppError("auth.forbidden", "only who may operate all projects changes a rule of all");
  return row;
}

const audit = (actor: Person, action: string, row: RuleRow) => ({
  actor: actor.tokenId,
  action,
  target: row.id,
  project_id: row.project_id,
  detail: { name: row.name, metric: row.metric },
  request_id: null,
});

export async function createRule(
  deps: Deps,
  actor: Person,
  { secret, project_id, ...input }: NewAlertRule,
  key: RequestKey | undefined,
): Promise<AlertRule> {
  const mine = actor.grant.projectId;
  if (mine !== null && project_id === undefined)
    throw new AppError("auth.forbidden", "name the project that the rule is for");
  if (project_id !== undefined) {
    const found = await locateProject(deps.db, project_id);
    if (found === undefined || (mine !== null && found !== mine)) throw new AppError("project.not_found");
  }
  requireReachable(deps, input.channels);
  return createOnce(deps, key, async (tx) => {
    const row = await putRule.one(tx, {
      ...input,
      id: `rule-${randomBytes(6).toString("hex")}` as AlertRuleId,
      project_id: project_id ?? null,
      sealed_secret: secret === undefined ? null : deps.vault.seal(secret),
      created_by: actor.tokenId,
    });
    await insertAudit(tx, audit(actor, "alert_rule.create", row));
    return toRule(row);
  });
}

export const getRule = async (deps: Deps, actor: Person, id: AlertRuleId): Promise<AlertRule> =>
  toRule(await requireRule(deps, actor, id, false));

export async function changeRule(
  deps: Deps,
  actor: Person,
  id: AlertRuleId,
  { secret, ...change }: AlertRuleChange,
): Promise<AlertRule> {
  const before = await requireRule(deps, actor, id, true);
  requireReachable(deps, change.channels ?? []);
  const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
  const sealed = secret === undefined ? before.sealed_secret : secret === null ? null : deps.vault.seal(secret);
  const draft: RuleDraft = { ...before, ...given, sealed_secret: sealed };
  return deps.db.tx(async (tx) => {
    const row = await putRule.one(tx, draft);
    await insertAudit(tx, audit(actor, "alert_rule.change", row));
    return toRule(row);
  });
}

export async function removeRule(deps: Deps, actor: Person, id: AlertRuleId): Promise<AlertRule> {
  const row = await requireRule(deps, actor, id, true);
  await deps.db.tx(async (tx) => {
    const standing = (await listRuleStandings(tx)).find((one) => one.id === id);
    if (standing !== undefined && standing.firing !== null) await resolveAlert(tx, standing.firing, deps.clock.now());
    await deleteRule(tx, id);
    await insertAudit(tx, audit(actor, "alert_rule.delete", row));
  });
  return toRule(row);
}

export async function pageRules(deps: Deps, actor: Person, { limit, cursor }: Paged) {
  const rows = await listRules(deps.db, actor.grant.projectId, parsePosition(cursor), limit + 1);
  return toPage(rows, limit, toRule);
}

export async function pageAlerts(deps: Deps, actor: Person, query: Paged & { readonly state?: string | undefined }) {
  const rows = await listAlerts(deps.db, {
    projectId: actor.grant.projectId,
    state: query.state,
    before: parsePosition(query.cursor),
    limit: query.limit + 1,
  });
  return toPage(rows, query.limit, toAlert);
}

export async function acknowledgeFired(deps: Deps, actor: Person, id: AlertId): Promise<Alert> {
  const known = await loadAlert.maybe(deps.db, id);
  const mine = actor.grant.projectId;
  if (known === undefined || (mine !== null && known.project_id !== null && known.project_id !== mine))
    throw new AppError("alert.not_found");
  await acknowledgeAlert(deps.db, id, actor.tokenId);
  return toAlert(await loadAlert.one(deps.db, id));
}
