/** A scenario: one run of an agent, and what its record must show. */
import type { AgentCapabilities } from "../../../../worker/src/agent-runtime.ts";
import type { Plan, RuntimeSubject } from "./plan.ts";
import type { Run } from "./run.ts";

export interface RunPromise {
  readonly title: string;
  /** Only of runtimes that ask a model. */
  readonly needsModel?: true;
  readonly keep: (run: Run) => void | Promise<void>;
}

export interface Scenario {
  readonly title: string;
  readonly needs?: (traits: RuntimeSubject["traits"], capabilities: AgentCapabilities) => boolean;
  readonly plan: () => Plan;
  readonly play: (run: Run) => Promise<void>;
  readonly promises: readonly RunPromise[];
}
