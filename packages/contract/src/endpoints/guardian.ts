/** What supervision sees, and what it did. */
import { z } from "zod";
import { endpoint } from "../endpoint.ts";
import { ProjectId, SandboxId } from "../ids.ts";
import {
  AnalysisId,
  ConductorAnalysis,
  Dashboard,
  GuardianAnalysis,
  Intervention,
  MonitorHealth,
  Supervision,
} from "../resources/supervision.ts";
import { page, Paging } from "./page.ts";

export const guardianEndpoints = {
  getSupervision: endpoint({
    method: "GET",
    path: "/sandboxes/:sandbox_id/supervision",
    access: "person",
    verb: "read",
    summary: "Whether a run is alive, idle, stuck or dead, and its signs of trouble with the events that make them.",
    params: z.object({ sandbox_id: SandboxId }),
    reply: Supervision,
  }),
  listInterventions: endpoint({
    method: "GET",
    path: "/guardian/interventions",
    access: "person",
    verb: "read",
    summary: "What the guardian did, newest first, with the events it saw and whether it helped.",
    query: z.strictObject({ ...Paging, sandbox_id: SandboxId.optional(), project_id: ProjectId.optional() }),
    reply: page(Intervention),
  }),
  listAnalyses: endpoint({
    method: "GET",
    path: "/guardian/analyses",
    access: "person",
    verb: "read",
    summary: "Verdicts of the judge model, newest first, each with the events it rests on.",
    query: z.strictObject({ ...Paging, sandbox_id: SandboxId.optional(), project_id: ProjectId.optional() }),
    reply: page(GuardianAnalysis),
  }),
  getAnalysis: endpoint({
    method: "GET",
    path: "/guardian/analyses/:analysis_id",
    access: "person",
    verb: "read",
    summary: "One verdict of the judge model with the events it rests on.",
    params: z.object({ analysis_id: AnalysisId }),
    reply: GuardianAnalysis,
  }),
  listConductorAnalyses: endpoint({
    method: "GET",
    path: "/monitor/conductor",
    access: "person",
    verb: "read",
    summary: "How the running agents stood together, newest first.",
    query: z.strictObject({ ...Paging }),
    reply: page(ConductorAnalysis),
  }),
  getMonitorHealth: endpoint({
    method: "GET",
    path: "/monitor/intelligent/health",
    access: "person",
    verb: "read",
    summary: "Health of all running agents, as far as it was judged.",
    reply: MonitorHealth,
  }),
  getDashboard: endpoint({
    method: "GET",
    path: "/monitor/dashboard",
    access: "person",
    verb: "read",
    summary: "Work and agents in figures.",
    reply: Dashboard,
  }),
} as const;
