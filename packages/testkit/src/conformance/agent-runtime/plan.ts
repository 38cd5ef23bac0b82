/** What an agent is to do in a scenario, said so that any runtime can be made to do it. */
import type { AgentRuntime, WorkOrder } from "../../../../worker/src/agent-runtime.ts";
import type { Hold } from "../../model/hold.ts";
import type { ScriptedModel } from "../../model/scripted-model.ts";

export type Move =
  | { readonly say: string; readonly holdLast?: Hold }
  | { readonly think: string }
  /** By a tool for shell commands. */
  | { readonly run: string; readonly id?: string }
  /** By a tool for files. */
  | { readonly write: { readonly path: string; readonly content: string } }
  /** The model refuses, or stops in the middle of a word. */
  | { readonly fail: string }
  | { readonly hang: string };

export interface Plan {
  readonly first: readonly Move[];
  /** What it does about messages that it is sent. */
  readonly later?: readonly Move[];
  readonly order?: Partial<WorkOrder>;
}

export interface Prepared {
  readonly order: Partial<WorkOrder>;
  /** For runtimes that ask one. */
  readonly model?: ScriptedModel;
  close(): Promise<void>;
}

/** A runtime under test. */
export interface RuntimeSubject {
  readonly name: string;
  readonly runtime: AgentRuntime;
  /** Makes an agent do as planned; `cwd` is where it will work. */
  prepare(plan: Plan, cwd: string): Promise<Prepared>;
  /** Whether the agent has a message by now, where it takes longer than a line on its input; `home` is where it keeps things. */
  readonly isTaken?: (home: string, content: string) => Promise<boolean>;
  /** What decides, besides capabilities, which scenarios are asked for. */
  readonly traits: {
    /** It asks a model, which the suite plays. */
    readonly model: boolean;
    /** It asks before it uses a tool for commands. */
    readonly permissions: boolean;
    /** It is a process of its own, which can die. */
    readonly process: boolean;
  };
  /** Promises that it breaks, each with its reason. One that is kept after all fails the suite. */
  readonly deviations?: readonly { readonly promise: string; readonly reason: string }[];
}
