/** Whether a ticket is stuck, why, and what may be tried: decided from counts and errors, with limits that hold for ever. */

export interface StuckFacts {
  readonly isDone: boolean;
  /** Somebody holds it back on purpose: blocked, or not approved. */
  readonly isHeld: boolean;
  readonly tasks: number;
  /** Anything that still waits, runs or is looked at. */
  readonly active: number;
  readonly completed: number;
  readonly failed: number;
  readonly lastEndedMs: number | null;
  readonly runs: number;
  readonly lastRunMs: number | null;
  /** Runs in a row, up to the newest, whose task did not end well. */
  readonly failedRuns: number;
  /** A recovery task was completed, and something failed is still as it was. */
  readonly isRecoveredInVain: boolean;
}

export interface DiagnosticLimits {
  readonly coolDownMs: number;
  readonly stuckMs: number;
  readonly mostFailedRuns: number;
  readonly mostRuns: number;
}

export type StuckVerdict =
  | "not_stuck"
  | "held"
  | "needs_person"
  | "gave_up"
  | "limit_reached"
  | "cooling_down"
  | "too_early"
  | "stuck";

export function decideStuck(facts: StuckFacts, limits: DiagnosticLimits, nowMs: number): StuckVerdict {
  if (facts.isDone || facts.tasks === 0 || facts.active > 0 || facts.failed === 0) return "not_stuck";
  if (facts.isHeld) return "held";
  if (facts.isRecoveredInVain) return "needs_person";
  if (facts.failedRuns >= limits.mostFailedRuns) return "gave_up";
  if (facts.runs >= limits.mostRuns) return "limit_reached";
  if (facts.lastRunMs !== null && nowMs - facts.lastRunMs < limits.coolDownMs) return "cooling_down";
  return facts.lastEndedMs !== null && nowMs - facts.lastEndedMs < limits.stuckMs ? "too_early" : "stuck";
}

export interface FailedTask {
  readonly id: string;
  readonly title: string;
  readonly error: string;
  readonly tries: number;
  readonly outcomes: readonly string[];
}

export interface Diagnosis {
  readonly root_cause: string;
  readonly hypotheses: readonly {
    readonly statement: string;
    readonly likelihood: number;
    readonly supporting_evidence: readonly string[];
    readonly counterpoints: readonly string[];
  }[];
  readonly recommendations: readonly {
    readonly description: string;
    readonly priority: "LOW" | "MEDIUM" | "HIGH";
    readonly estimated_effort: "S" | "M" | "L";
    readonly creates_followup_task: boolean;
  }[];
  readonly confidence: number;
}

/** Kinds of trouble by what errors say; the first that fits counts. */
const CAUSES = [
  {
    name: "environment",
    words:
      /spawn failed|provider|enoent|command not found|no space|out of memory|oom|network|econn|timed? ?out|heartbeat|lost/i,
    statement: "the surroundings failed, not the work: sandbox, network, disk or a program that is not there",
    advice: "Check that the sandbox has what the task needs, then try the failed part again.",
  },
  {
    name: "failing_checks",
    words: /test|assert|lint|type ?error|compil|check|validation|evidence/i,
    statement: "the work was done and does not pass its checks",
    advice: "Read the first failing check, mend its cause, and run all checks before completing.",
  },
  {
    name: "waiting_on_clarification",
    words:
      /unclear|ambig|which|clarif|question|missing requirement|not specified|permission|denied|credential|token|unauthori/i,
    statement: "the agent lacked something that only a person or the description can give",
    advice: "State what is missing and work with the most plausible reading; note it in the result.",
  },
] as const;

export type BlockCause = (typeof CAUSES)[number]["name"] | "dependency";

const EVIDENCE_CHARACTERS = 300;
const pick = (error: string) => CAUSES.find(({ words }) => words.test(error));

/** What most of the errors speak of; a dependency when none says anything. */
export function classifyErrors(errors: readonly string[]): BlockCause {
  const counts = new Map<BlockCause, number>();
  for (const error of errors) {
    const name = pick(error)?.name;
    if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].toSorted((a, b) => b[1] - a[1])[0]?.[0] ?? (errors.length > 0 ? "failing_checks" : "dependency");
}

export function diagnose(failed: readonly FailedTask[]): Diagnosis {
  const cause = classifyErrors(failed.map(({ error }) => error));
  const known = CAUSES.find(({ name }) => name === cause);
  const evidence = failed.map(({ title, error, tries }) =>
    `"${title}" failed after ${tries} ${tries === 1 ? "try" : "tries"}: ${error}`.slice(0, EVIDENCE_CHARACTERS),
  );
  const supporting = failed.filter(({ error }) => pick(error)?.name === cause).length;
  const likelihood = failed.length === 0 ? 0 : supporting / failed.length;
  const isLost = failed.some(({ outcomes }) => outcomes.includes("lost"));
  return {
    root_cause: known?.statement ?? "what the ticket waits for did not come",
    hypotheses: [
      {
        statement: known?.statement ?? "a task that others wait for has failed",
        likelihood,
        supporting_evidence: evidence.slice(0, 5),
        counterpoints:
          supporting === failed.length
            ? []
            : [`${failed.length - supporting} of ${failed.length} failures say something else`],
      },
      ...(isLost && cause !== "environment"
        ? [
            {
              statement: "a sandbox was lost in the middle of the work",
              likelihood: 0.5,
              supporting_evidence: failed
                .filter(({ outcomes }) => outcomes.includes("lost"))
                .map(({ title }) => title)
                .slice(0, 5),
              counterpoints: [],
            },
          ]
        : []),
    ],
    recommendations: [
      {
        description: known?.advice ?? "Find out what is missing, and do the smallest step that lets the others go on.",
        priority: "HIGH",
        estimated_effort: failed.length > 2 ? "L" : "M",
        creates_followup_task: true,
      },
    ],
    confidence: Math.round(100 * Math.min(0.9, 0.3 + 0.6 * likelihood)) / 100,
  };
}

const DESCRIPTION_CHARACTERS = 2_000;

/** What the agent of the recovery task is told. */
export const toRecovery = (ticketTitle: string, diagnosis: Diagnosis): string =>
  [
    `The ticket "${ticketTitle}" is stuck: nothing of it runs or waits, and parts of it failed.`,
    `Probable cause: ${diagnosis.root_cause}.`,
    ...diagnosis.hypotheses.flatMap(({ supporting_evidence }) => supporting_evidence.map((one) => `- ${one}`)),
    ...diagnosis.recommendations.map(({ description }) => description),
    "Do what is needed so that the ticket's goal is reached, and say in your result what was wrong.",
  ]
    .join("\n")
    .slice(0, DESCRIPTION_CHARACTERS);
