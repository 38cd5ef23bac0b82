/** How all running agents stand together: coherence, duplicate work, what to do about it. */

export interface AgentView {
  readonly id: string;
  /** Agents of different projects never do the same work. */
  readonly project: string;
  readonly phase: string;
  /** 0 to 1; null while nobody has judged it: then it is left out, never guessed. */
  readonly alignment: number | null;
  readonly isAligned: boolean;
  readonly needsSteering: boolean;
  readonly files: readonly string[];
  readonly commands: readonly string[];
  readonly goal: string;
  /** As last judged; empty while nobody was. */
  readonly summary: string;
  readonly focus: string;
}

const clamp = (value: number): number => Math.min(1, Math.max(0, value));
const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Null: nobody runs, or nobody was judged. */
export function computeCoherence(agents: readonly AgentView[]): number | null {
  const judged = agents.filter((agent) => agent.alignment !== null);
  if (judged.length === 0) return null;
  const share = (isIt: (agent: AgentView) => boolean) => judged.filter(isIt).length / judged.length;
  const counts = [...Map.groupBy(judged, (agent) => agent.phase).values()].map((group) => group.length);
  const average = mean(counts);
  const variance = mean(counts.map((count) => (count - average) ** 2));
  return clamp(
    mean(judged.map((agent) => agent.alignment ?? 0)) -
      0.2 * share((agent) => !agent.isAligned) -
      0.3 * share((agent) => agent.needsSteering) +
      0.1 * (counts.length / judged.length) +
      0.1 * (1 - variance / average ** 2),
  );
}

const toWords = (text: string): ReadonlySet<string> => new Set(text.toLowerCase().match(/[\p{L}\p{N}_]{3,}/gu) ?? []);

const overlap = (a: ReadonlySet<string>, b: ReadonlySet<string>): number | null => {
  if (a.size === 0 || b.size === 0) return null;
  const common = [...a].filter((one) => b.has(one)).length;
  return common / (a.size + b.size - common);
};

const WEIGHTS = { files: 0.5, commands: 0.2, goal: 0.3 } as const;

/** Files touched, commands run and words of the goal, each as the share in common; what neither has does not count. */
export function computeSimilarity(a: AgentView, b: AgentView): number {
  const parts = [
    [overlap(new Set(a.files), new Set(b.files)), WEIGHTS.files],
    [overlap(new Set(a.commands), new Set(b.commands)), WEIGHTS.commands],
    [overlap(toWords(a.goal), toWords(b.goal)), WEIGHTS.goal],
  ] as const;
  const known = parts.filter(([value]) => value !== null);
  const weight = known.reduce((sum, [, each]) => sum + each, 0);
  return weight === 0 ? 0 : known.reduce((sum, [value, each]) => sum + (value ?? 0) * each, 0) / weight;
}

export interface Duplicate {
  readonly a: string;
  readonly b: string;
  readonly similarity: number;
  readonly files: readonly string[];
}

export const DUPLICATE_SIMILARITY = 0.7;

const listPairs = (agents: readonly AgentView[]): readonly (readonly [AgentView, AgentView])[] =>
  agents.flatMap((one, index) =>
    agents
      .slice(index + 1)
      .filter(({ project }) => project === one.project)
      .map((other) => [one, other] as const),
  );

export function findDuplicates(agents: readonly AgentView[]): readonly Duplicate[] {
  return listPairs(agents)
    .map(([one, other]) => ({
      a: one.id,
      b: other.id,
      similarity: computeSimilarity(one, other),
      files: one.files.filter((file) => other.files.includes(file)).slice(0, 20),
    }))
    .filter(({ similarity }) => similarity > DUPLICATE_SIMILARITY)
    .toSorted((a, b) => b.similarity - a.similarity);
}

/** Below it two runs are told apart without asking anybody. */
const DOUBTFUL_SIMILARITY = 0.35;
const MOST_DOUBTFUL = 5;

/** Pairs that are neither clearly the same work nor clearly not: worth asking a model about, most alike first. */
export function findDoubtful(agents: readonly AgentView[]): readonly (readonly [AgentView, AgentView])[] {
  return listPairs(agents)
    .map((pair) => ({ pair, similarity: computeSimilarity(...pair) }))
    .filter(({ similarity }) => similarity > DOUBTFUL_SIMILARITY && similarity <= DUPLICATE_SIMILARITY)
    .toSorted((a, b) => b.similarity - a.similarity)
    .slice(0, MOST_DOUBTFUL)
    .map(({ pair }) => pair);
}

const DONE = /^(?:completed|finished|done|resolved)\.?$/i;
const JOINING = /integration|interface|api|connection|communication|dependency|shared|common/i;

export const countTerminations = (agents: readonly AgentView[]): number =>
  agents.filter(({ summary }) => DONE.test(summary.trim())).length;

export const countCoordinations = (agents: readonly AgentView[]): number =>
  [...Map.groupBy(agents, (agent) => agent.phase).values()].filter(
    (group) => group.length > 1 && group.some(({ focus }) => JOINING.test(focus)),
  ).length;

export type ConductorStatus = "no_agents" | "unknown" | "critical" | "warning" | "inefficient" | "optimal" | "normal";

export function decideConductorStatus(agents: number, coherence: number | null, duplicates: number): ConductorStatus {
  if (agents === 0) return "no_agents";
  if (coherence === null) return duplicates > 0.3 * agents ? "inefficient" : "unknown";
  if (coherence < 0.3) return "critical";
  if (coherence < 0.5) return "warning";
  if (duplicates > 0.3 * agents) return "inefficient";
  return coherence > 0.8 ? "optimal" : "normal";
}

const TOP_DUPLICATES = 3;
const CROWDED = 0.6;

export function listRecommendations(
  agents: readonly AgentView[],
  coherence: number | null,
  duplicates: readonly Duplicate[],
): readonly string[] {
  const phases = [...Map.groupBy(agents, (agent) => agent.phase)];
  const [crowded] = phases.filter(
    ([, group]) => agents.length > 1 && group.length > CROWDED * agents.length && phases.length > 1,
  );
  return [
    ...(coherence !== null && coherence < 0.5
      ? ["Coherence is low: look at the agents that need steering first."]
      : []),
    ...duplicates
      .slice(0, TOP_DUPLICATES)
      .map(
        ({ a, b, files }) =>
          `${a} and ${b} seem to do the same work${files.length > 0 ? ` (${files.slice(0, 3).join(", ")})` : ""}: keep one.`,
      ),
    ...(crowded === undefined ? [] : [`Most agents are in ${crowded[0]}.`]),
    ...(coherence !== null && coherence > 0.8 ? ["The agents work together well."] : []),
  ];
}

export interface AgentHealth {
  readonly alignment: number;
  readonly isAligned: boolean;
  readonly needsSteering: boolean;
  readonly interventionsLastHour: number;
}

/** Of one agent, 0 to 1. */
export function computeAgentHealth(agent: AgentHealth): number {
  const steered = agent.alignment * (agent.needsSteering ? 0.7 : 1);
  const bothered = steered - Math.min(0.3, 0.1 * Math.min(5, agent.interventionsLastHour));
  return clamp(bothered * (agent.isAligned ? 1 : 0.8));
}

export type SystemHealth = "no_activity" | "unknown" | "optimal" | "good" | "warning" | "critical";

/** Alignments of those that were judged; agents counts all that run. */
export function decideSystemHealth(agents: number, alignments: readonly number[], needSteering: number): SystemHealth {
  if (agents === 0) return "no_activity";
  if (alignments.length === 0) return "unknown";
  const average = mean(alignments);
  if (average > 0.8 && needSteering === 0) return "optimal";
  if (average > 0.6 && needSteering < 0.3 * alignments.length) return "good";
  return average > 0.4 ? "warning" : "critical";
}

const LOW_ALIGNMENT = 0.3;

/** What a person should hear about the health of all, in words. */
export const listHealthAlerts = (
  agents: number,
  health: SystemHealth,
  averageAlignment: number | null,
): readonly string[] => [
  ...(health === "critical" ? ["System health is critical."] : []),
  ...(agents === 0 ? ["No agent runs."] : []),
  ...(averageAlignment !== null && averageAlignment < LOW_ALIGNMENT
    ? [`Agents keep to their goals by ${averageAlignment.toFixed(2)} only.`]
    : []),
];
