/** What supervision found about a run, as the store holds it: an anomaly, two verdicts and a word to the agent between them. */
import { randomBytes } from "node:crypto";
import type { AnalysisId, InterventionId, MessageId, ProjectId, SandboxId, Verdict } from "@drover/contract";
import type { Db } from "../../../server/src/ports/db.ts";
import { insertAnalysis } from "../../../server/src/store/analyses.ts";
import { ensureSupervision, insertIntervention, saveCondition } from "../../../server/src/store/supervision.ts";
import { json, sql } from "../../../server/src/store/sql.ts";

const newId = (kind: string) => `${kind}-${randomBytes(6).toString("hex")}`;

const DRIFTS: Partial<Verdict> = {
  trajectory_aligned: false,
  alignment_score: 0.3,
  needs_steering: true,
  steering_type: "correction",
  steering_recommendation: "Leave the build alone.",
  trajectory_summary: "It rewrites the build.",
  current_focus: "the build",
  accumulated_goal: "Mend the parser.",
  details: {
    phase_alignment: "implementation",
    constraint_violations: ["keep the build as it is"],
    missing_steps: [],
    progress_indicators: ["the parser's tests run"],
    risk_factors: [],
  },
  conversation_length: 12,
  session_duration: 300,
};

const KEEPS: Partial<Verdict> = {
  ...DRIFTS,
  trajectory_aligned: true,
  alignment_score: 0.9,
  needs_steering: false,
  steering_type: null,
  steering_recommendation: null,
  trajectory_summary: "It is back at the parser.",
  current_focus: "the parser",
};

const toIntervention = (sandboxId: SandboxId, cited: number) => ({
  id: newId("int") as InterventionId,
  sandbox_id: sandboxId,
  project_id: "" as ProjectId,
  signal: "verdict",
  level: "warning" as const,
  rung: "nudge" as const,
  mode: "nudge" as const,
  reason: "It rewrites what it was told to keep.",
  seqs: [cited],
  message_id: null as MessageId | null,
  at_seq: cited,
});

/** The guardian wants a person to look, and supervision says that the worker beats and does nothing. */
export async function plantQuestion(db: Db, sandbox: string, cited: number): Promise<void> {
  const sandboxId = sandbox as SandboxId;
  await insertIntervention(db, {
    ...toIntervention(sandboxId, cited),
    rung: "ask",
    reason: "The same test fails again.",
  });
  await ensureSupervision(db, sandboxId, {}, {});
  await saveCondition.one(db, sandboxId, "stuck", new Date());
}

export async function plantFindings(db: Db, sandbox: string) {
  const sandboxId = sandbox as SandboxId;
  const [anomalyId, analysisId, nextId] = [newId("ano"), newId("ana") as AnalysisId, newId("ana") as AnalysisId];
  const messageId = newId("msg") as MessageId;
  const [row] = await db.query(
    sql`select seq::int as seq from events where sandbox_id = ${sandboxId} order by seq desc limit 1 offset 1`,
  );
  const cited = Number(row?.["seq"]);
  await insertAnalysis(db, analysisId, sandboxId, "vendor:judge", cited, { ...DRIFTS, evidence: [cited] });
  await db.query(sql`insert into messages (id, sandbox_id, content, message_type, delivery, is_urgent, state)
    values (${messageId}, ${sandboxId}, 'Leave the build alone.', 'guardian_nudge', 'steer', false, 'queued')`);
  await insertIntervention(db, { ...toIntervention(sandboxId, cited), message_id: messageId });
  await insertAnalysis(db, nextId, sandboxId, "vendor:judge", cited, { ...KEEPS, evidence: [cited] });
  const parts = { latency: 0.9, errors: 0.6, resources: 0, queue: 0 };
  await db.query(sql`insert into anomalies (id, sandbox_id, project_id, score, severity, parts, readings)
    select ${anomalyId}, id, project_id, 0.82, 'warning', ${json(parts)}::jsonb, 3 from sandboxes where id = ${sandboxId}`);
  return { anomalyId, analysisId, nextId, cited };
}
