/** The conductor: looks at all running agents at once, for coherence and for work done twice. */
import { randomBytes } from "node:crypto";
import {
  computeCoherence,
  countCoordinations,
  countTerminations,
  decideConductorStatus,
  DUPLICATE_SIMILARITY,
  findDoubtful,
  findDuplicates,
  listRecommendations,
  type AgentView,
  type Duplicate,
} from "@drover/core";
import type { ProjectId } from "@drover/contract";
import { insertConductorAnalysis, listStanding, listTouched, type StandingRow } from "../store/analyses.ts";
import { askModel } from "./ask-model.ts";
import type { Deps } from "./deps.ts";
import { draftEvent, writeWithEvents } from "./event-log.ts";

const FRESH_SECONDS = 600;
const MOST = 200;
const LATELY = 400;

async function toView(deps: Deps, row: StandingRow): Promise<AgentView> {
  const touched = await listTouched(deps.db, row.id, LATELY);
  return {
    id: row.id,
    project: row.project_id,
    phase: row.phase ?? "none",
    alignment: row.verdict?.alignment_score ?? null,
    isAligned: row.verdict?.trajectory_aligned ?? false,
    needsSteering: row.verdict?.needs_steering ?? false,
    files: touched.filter(({ kind }) => kind === "file").map(({ what }) => what),
    commands: touched.filter(({ kind }) => kind === "command").map(({ what }) => what),
    goal: row.prompt ?? "",
    summary: row.verdict?.trajectory_summary ?? "",
    focus: row.verdict?.current_focus ?? "",
  };
}

const GOAL_CHARACTERS = 2_000;
const LISTED = 50;

const describe = ({ goal, files, commands }: AgentView): string =>
  [
    `Goal: ${goal.slice(0, GOAL_CHARACTERS)}`,
    `Files: ${files.slice(0, LISTED).join(", ")}`,
    `Commands: ${commands.slice(0, LISTED).join("; ")}`,
  ].join("\n");

/** What is measured first; a model only where that leaves a doubt. Without one, or without its answer, doubt is no duplicate. */
async function findAllDuplicates(
  deps: Deps,
  agents: readonly AgentView[],
  projects: ReadonlyMap<string, ProjectId>,
  signal: AbortSignal,
): Promise<readonly Duplicate[]> {
  const sure = findDuplicates(agents);
  if (!deps.judge.isThere) return sure;
  const judged: Duplicate[] = [];
  for (const [one, other] of findDoubtful(agents)) {
    const marker = randomBytes(12).toString("hex");
    const pair = { first: describe(one), second: describe(other), marker };
    const projectId = projects.get(one.id);
    if (projectId === undefined) continue;
    const account = { purpose: "judge", projectId, sandboxId: null, taskId: null } as const;
    const answer = await askModel(deps, account, (judge, wire) => judge.compare(pair, wire, signal));
    if (answer?.is_duplicate !== true || answer.similarity <= DUPLICATE_SIMILARITY) continue;
    const files = one.files.filter((file) => other.files.includes(file)).slice(0, 20);
    judged.push({ a: one.id, b: other.id, similarity: answer.similarity, files });
  }
  return [...sure, ...judged];
}

/** One analysis over all, and one for each project that has agents: who may see one project sees that one. */
export async function runConductorOnce(deps: Deps, signal: AbortSignal): Promise<{ analyses: number }> {
  const rows = await listStanding(deps.db, null, FRESH_SECONDS, MOST);
  if (rows.length === 0) return { analyses: 0 };
  const views = new Map(await Promise.all(rows.map(async (row) => [row.id, await toView(deps, row)] as const)));
  const projectOf = new Map(rows.map((row) => [row.id as string, row.project_id]));
  const all = await findAllDuplicates(deps, [...views.values()], projectOf, signal);
  const projects = [null, ...new Set(rows.map((row) => row.project_id))];
  for (const projectId of projects) {
    const agents = rows
      .filter((row) => projectId === null || row.project_id === projectId)
      .flatMap((row) => views.get(row.id) ?? []);
    const coherence = computeCoherence(agents);
    const ids = new Set(agents.map((agent) => agent.id));
    const duplicates = all.filter(({ a, b }) => ids.has(a) && ids.has(b));
    const status = decideConductorStatus(agents.length, coherence, duplicates.length);
    const id = `con-${randomBytes(6).toString("hex")}`;
    await writeWithEvents(deps, async (tx, append) => {
      await insertConductorAnalysis(tx, {
        id,
        projectId,
        coherence,
        status,
        agents: agents.length,
        duplicates,
        terminations: countTerminations(agents),
        coordinations: countCoordinations(agents),
        recommendations: listRecommendations(agents, coherence, duplicates),
      });
      await append([
        draftEvent(
          deps.ids,
          { type: "monitoring_loop", id, projectId },
          {
            eventType: "monitoring.conductor.analysis",
            data: {
              coherence_score: coherence,
              system_status: status,
              duplicate_count: duplicates.length,
              num_agents: agents.length,
            },
          },
        ),
      ]);
    });
  }
  return { analyses: projects.length };
}
