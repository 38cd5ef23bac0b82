/** Which use case answers the endpoints of alerts and diagnostics. */
import type { alertEndpoints, diagnosticEndpoints } from "@drover/contract";
import { getRun, pageRuns, readStuck, triggerDiagnosis } from "../app/diagnose-tickets.ts";
import {
  acknowledgeFired,
  changeRule,
  createRule,
  getRule,
  pageAlerts,
  pageRules,
  removeRule,
} from "../app/manage-alerts.ts";
import { person, type Handlers } from "./context.ts";

type Names = keyof typeof alertEndpoints | keyof typeof diagnosticEndpoints;

export const alertHandlers: Pick<Handlers, Names> = {
  listAlertRules: (context, { query }) => pageRules(context.deps, person(context), query),
  createAlertRule: (context, { body }) => createRule(context.deps, person(context), body, context.requestKey),
  getAlertRule: (context, { params }) => getRule(context.deps, person(context), params.rule_id),
  changeAlertRule: (context, { params, body }) => changeRule(context.deps, person(context), params.rule_id, body),
  deleteAlertRule: (context, { params }) => removeRule(context.deps, person(context), params.rule_id),
  listAlerts: (context, { query }) => pageAlerts(context.deps, person(context), query),
  acknowledgeAlert: (context, { params }) => acknowledgeFired(context.deps, person(context), params.alert_id),

  listStuckTickets: (context) => readStuck(context.deps, person(context)),
  listDiagnosticRuns: (context, { query }) => pageRuns(context.deps, person(context), query),
  getDiagnosticRun: (context, { params }) => getRun(context.deps, person(context), params.run_id),
  triggerDiagnostic: (context, { params }) =>
    triggerDiagnosis(context.deps, person(context), params.ticket_id, context.requestKey),
};
