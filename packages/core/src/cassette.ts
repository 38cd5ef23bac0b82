/** Which recorded answer fits a model request. Requests hold dates, paths and ids that differ each time: what counts is where in
 *  its conversation the agent stands. */
import { isFromModel, listItems } from "./seen-text.ts";
import { isRequestBody, type RequestBody } from "./model-request.ts";

export interface CassetteFacts {
  readonly dialect: string;
  readonly path: string;
  readonly is_stream: boolean;
  /** Agents ask for titles and the like besides, and offer no tools then. */
  readonly has_tools: boolean;
  /** How often the model has spoken so far. */
  readonly steps: number;
}

const hasTools = ({ tools }: RequestBody) => Array.isArray(tools) && tools.length > 0;

export const toCassetteFacts = (dialect: string, path: string, body: unknown): CassetteFacts => {
  const given = isRequestBody(body) ? body : {};
  return {
    dialect,
    // A Gemini path names the model, which a replay need not.
    path: path.replace(/^\/models\/[^/]+:/, "/models/*:"),
    is_stream: given["stream"] === true || path.includes(":stream"),
    has_tools: hasTools(given),
    steps: (listItems(given) ?? []).filter(isFromModel).length,
  };
};

/** The entry's place in the list; -1 when the recording has nothing to say. An answer is given again only when no other fits. */
export function pickRecorded(
  entries: readonly CassetteFacts[],
  facts: CassetteFacts,
  used: ReadonlySet<number>,
): number {
  const isKind = (entry: CassetteFacts) =>
    entry.dialect === facts.dialect &&
    entry.path === facts.path &&
    entry.is_stream === facts.is_stream &&
    entry.has_tools === facts.has_tools;
  const find = (isFit: (entry: CassetteFacts, index: number) => boolean) =>
    entries.findIndex((entry, index) => isKind(entry) && isFit(entry, index));
  const attempts = [
    (entry: CassetteFacts, index: number) => entry.steps === facts.steps && !used.has(index),
    (entry: CassetteFacts) => entry.steps === facts.steps,
    (_entry: CassetteFacts, index: number) => !used.has(index),
  ];
  for (const isFit of attempts) {
    const found = find(isFit);
    if (found !== -1) return found;
  }
  return -1;
}
