/** Alert rules, and what fires. */
import { z } from "zod";
import { endpoint } from "../endpoint.ts";
import {
  Alert,
  AlertId,
  AlertRule,
  AlertRuleChange,
  AlertRuleId,
  AlertState,
  NewAlertRule,
} from "../resources/alert.ts";
import { page, Paging } from "./page.ts";

const ruleRef = z.object({ rule_id: AlertRuleId });
const byOperator = { access: "person", verb: "operate" } as const;

export const alertEndpoints = {
  listAlertRules: endpoint({
    method: "GET",
    path: "/monitor/alert-rules",
    access: "person",
    verb: "read",
    summary: "Rules over measured figures, newest first.",
    query: z.strictObject({ ...Paging }),
    reply: page(AlertRule),
  }),
  createAlertRule: endpoint({
    method: "POST",
    path: "/monitor/alert-rules",
    summary: "Say when somebody is to be told, and how.",
    body: NewAlertRule,
    reply: AlertRule,
    status: 201,
    creates: true,
    ...byOperator,
  }),
  getAlertRule: endpoint({
    method: "GET",
    path: "/monitor/alert-rules/:rule_id",
    access: "person",
    verb: "read",
    summary: "One rule.",
    params: ruleRef,
    reply: AlertRule,
  }),
  changeAlertRule: endpoint({
    method: "PATCH",
    path: "/monitor/alert-rules/:rule_id",
    summary: "Change a rule, or switch it off.",
    params: ruleRef,
    body: AlertRuleChange,
    reply: AlertRule,
    ...byOperator,
  }),
  deleteAlertRule: endpoint({
    method: "DELETE",
    path: "/monitor/alert-rules/:rule_id",
    summary: "Take a rule away; what it fired stays, resolved.",
    params: ruleRef,
    reply: AlertRule,
    ...byOperator,
  }),
  listAlerts: endpoint({
    method: "GET",
    path: "/monitor/alerts",
    access: "person",
    verb: "read",
    summary: "What fired, newest first, and who was told.",
    query: z.strictObject({ ...Paging, state: AlertState.optional() }),
    reply: page(Alert),
  }),
  acknowledgeAlert: endpoint({
    method: "POST",
    path: "/monitor/alerts/:alert_id/acknowledge",
    summary: "Say that somebody sees to it.",
    params: z.object({ alert_id: AlertId }),
    reply: Alert,
    ...byOperator,
  }),
} as const;
