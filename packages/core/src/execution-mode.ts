/** What kind of work a task is, where nobody says: by its type. Who only looks around is asked for no commit. */
import type { ExecutionConfig } from "@drover/contract";

export type ExecutionMode = NonNullable<ExecutionConfig["execution_mode"]>;

const MODES: Readonly<Record<Exclude<ExecutionMode, "implementation">, readonly string[]>> = {
  exploration: [
    "explore_codebase",
    "analyze_codebase",
    "analyze_requirements",
    "analyze_dependencies",
    "create_spec",
    "create_requirements",
    "create_design",
    "create_tickets",
    "create_tasks",
    "define_feature",
    "generate_prd",
    "research",
    "discover",
    "investigate",
  ],
  validation: ["validate", "validate_implementation", "review_code", "run_tests"],
};

export const pickExecutionMode = (taskType: string): ExecutionMode => {
  if (MODES.exploration.includes(taskType)) return "exploration";
  return MODES.validation.includes(taskType) ? "validation" : "implementation";
};
