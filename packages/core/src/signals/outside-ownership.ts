/** Edits of files that the task does not own. */
import { matchesGlob } from "../glob.ts";
import type { SeenEvent } from "../watch-facts.ts";
import { cite, type Detector } from "./signal.ts";
import { isEdit, isFreshStart } from "./tool-call.ts";

interface State {
  readonly seqs: readonly number[];
  readonly paths: readonly string[];
}

const NONE: State = { seqs: [], paths: [] };
const KEPT = 20;
const CRITICAL_EDITS = 5;

/** Agents name files from the root of the sandbox or from the workspace. */
const toWorkspacePath = (path: string): string => path.replace(/^\/workspace\//, "").replace(/^\.\//, "");

/** Who renames a file changes what was there, too. */
export const listEdited = ({ event_data: { file_path: path, old_path: old } }: SeenEvent): readonly string[] =>
  [path, old].filter((one) => typeof one === "string").map(toWorkspacePath);

export const outsideOwnership: Detector<State> = {
  initial: NONE,
  fold: (state, event, run) => {
    // Told about it, the agent begins anew: what counts is what it does then.
    if (isFreshStart(event)) return NONE;
    if (run.ownedFiles.length === 0 || !isEdit(event)) return state;
    const outside = listEdited(event).filter((path) => !run.ownedFiles.some((glob) => matchesGlob(glob, path)));
    if (outside.length === 0) return state;
    return {
      seqs: [...state.seqs, event.seq].slice(-KEPT),
      paths: [...new Set([...state.paths, ...outside])].slice(-KEPT),
    };
  },
  read: ({ seqs, paths }) =>
    seqs.length === 0
      ? undefined
      : {
          signal: "outside_ownership",
          level: seqs.length >= CRITICAL_EDITS ? "critical" : "warning",
          seqs: cite(seqs),
          detail: `edits outside of its files: ${paths.slice(0, 3).join(", ")}${paths.length > 3 ? ", …" : ""}`,
        },
};
