/** Something done that a person forbade in so many words. */
import { parseConstraints, type Constraints } from "../constraints.ts";
import { matchesGlob } from "../glob.ts";
import { isRun } from "../shell-commands.ts";
import { listEdited } from "./outside-ownership.ts";
import { cite, type Detector, type RunContext } from "./signal.ts";
import { isEdit, isFreshStart, toToolCall } from "./tool-call.ts";

interface State {
  readonly seqs: readonly number[];
  readonly what: readonly string[];
  /** What people said since: it may forbid more, or allow again. */
  readonly said: readonly string[];
}

const KEPT = 20;
const SAID_CHARACTERS = 4_000;
const CRITICAL_BREAKS = 3;

/** A path without a slash may lie anywhere. */
const isNamed = (path: string, named: string): boolean =>
  matchesGlob(named, path) || (!named.includes("/") && matchesGlob(`**/${named}`, path));

const parsed = new WeakMap<RunContext, WeakMap<readonly string[], Constraints>>();

/** Read once for all events between two words of a person: it is the dearest step of the whole watch. */
function parseOnce(run: RunContext, said: readonly string[]): Constraints {
  const bySaid = parsed.get(run) ?? new WeakMap<readonly string[], Constraints>();
  const constraints = bySaid.get(said) ?? parseConstraints([run.prompt, ...said]);
  parsed.set(run, bySaid.set(said, constraints));
  return constraints;
}

function findBreak(paths: readonly string[], command: string | undefined, run: RunContext, said: readonly string[]) {
  const { forbiddenPaths, onlyPaths, forbiddenCommands } = parseOnce(run, said);
  for (const path of paths) {
    const forbidden = forbiddenPaths.find((named) => isNamed(path, named));
    if (forbidden !== undefined) return `${path} was not to be touched`;
    if (onlyPaths.length > 0 && !onlyPaths.some((named) => isNamed(path, named)))
      return `${path} was not among the files to touch`;
  }
  const forbidden = forbiddenCommands.find((named) => command !== undefined && isRun(command, named));
  return forbidden === undefined ? undefined : `${forbidden} was not to be run`;
}

export const constraintBroken: Detector<State> = {
  initial: { seqs: [], what: [], said: [] },
  fold: (state, event, run) => {
    const { content, message_type: kind } = event.event_data;
    if (isFreshStart(event)) {
      const isSaid = kind === "user_message" && typeof content === "string";
      const said = isSaid ? [...state.said, content.slice(0, SAID_CHARACTERS)].slice(-KEPT) : state.said;
      // Told about it, the agent begins anew: what counts is what it does then.
      return { seqs: [], what: [], said };
    }
    const paths = isEdit(event) ? listEdited(event) : [];
    const command = toToolCall(event)?.command;
    if (paths.length === 0 && command === undefined) return state;
    const broken = findBreak(paths, command, run, state.said);
    if (broken === undefined) return state;
    return {
      ...state,
      seqs: [...state.seqs, event.seq].slice(-KEPT),
      what: [...new Set([...state.what, broken])].slice(-KEPT),
    };
  },
  read: ({ seqs, what }) =>
    seqs.length === 0
      ? undefined
      : {
          signal: "constraint_broken",
          level: seqs.length >= CRITICAL_BREAKS ? "critical" : "warning",
          seqs: cite(seqs),
          detail: what.slice(-3).join("; "),
        },
};
