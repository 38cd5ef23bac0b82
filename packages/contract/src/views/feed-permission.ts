/** What an agent asks before it acts, and what became of it: one row, whoever answers. */
import { PermissionOption } from "../resources/permission.ts";
import type { FeedDraft } from "./feed-draft.ts";
import { toRowStart } from "./feed-draft.ts";
import type { PermissionRow } from "./feed-row.ts";
import type { LogEvent } from "./log-event.ts";
import { isRecord, readList, readRecord, readText } from "./log-event.ts";

const find = (draft: FeedDraft, requestId: string | null): readonly [number, PermissionRow] | undefined => {
  const at = requestId === null ? undefined : draft.index.rowOfPermission.get(requestId);
  const row = at === undefined ? undefined : draft.rows[at];
  return at !== undefined && row?.kind === "permission" ? [at, row] : undefined;
};

const readRequestId = (event: LogEvent): string | null =>
  readText(event.event_data, "request_id", "permission_id", "tool_use_id");

/** Agents put a question into the input of the tool they ask with, alone or as a list. */
const readQuestions = (event: LogEvent): string => {
  const { event_data: data } = event;
  const input = readRecord(data, "input");
  const own = readText(data, "question", "message", "description", "title") ?? readText(input, "question", "prompt");
  if (own !== null) return own;
  return readList(input, "questions")
    .flatMap((one) => (isRecord(one) ? (readText(one, "question") ?? []) : []))
    .join("\n");
};

/** Answers that the agent proposes to its own question. */
const readChoices = (event: LogEvent): readonly string[] => {
  const input = readRecord(event.event_data, "input");
  return [input, ...readList(input, "questions").filter(isRecord)].flatMap((one) =>
    readList(one, "options").flatMap((option) =>
      typeof option === "string" ? option : isRecord(option) ? (readText(option, "label", "name") ?? []) : [],
    ),
  );
};

export function foldPermissionRequested(draft: FeedDraft, event: LogEvent): void {
  const data = event.event_data;
  const requestId = readRequestId(event);
  // A worker that came back asks again under the same id.
  const known = find(draft, requestId);
  if (known !== undefined) {
    draft.replace(known[0], { ...known[1], lastSeq: event.sandbox_seq });
    return;
  }
  const placed = draft.push({
    ...toRowStart(event),
    kind: "permission",
    requestId,
    isQuestion: readText(data, "kind") === "question",
    tool: readText(data, "tool", "tool_name"),
    detail: readQuestions(event),
    input: readRecord(data, "input"),
    options: readList(data, "options").flatMap((option) => PermissionOption.safeParse(option).data ?? []),
    choices: readChoices(event),
    deadlineAt: readText(data, "deadline_at"),
    answer: null,
    by: null,
    note: null,
    isTold: false,
  });
  if (requestId !== null) draft.index.rowOfPermission.set(requestId, placed);
}

export function foldPermissionAnswered(draft: FeedDraft, event: LogEvent): void {
  const data = event.event_data;
  const known = find(draft, readRequestId(event));
  if (known === undefined) {
    draft.placed = Math.max(0, draft.rows.length - 1);
    return;
  }
  const [at, row] = known;
  // A person's answer is queued first, and told to the agent later.
  const isQueued = event.event_type === "PERMISSION_ANSWER_QUEUED";
  draft.replace(at, {
    ...row,
    lastSeq: event.sandbox_seq,
    answer: readText(data, "decision", "answer", "outcome", "behavior") ?? row.answer ?? "answered",
    by: isQueued ? "person" : (readText(data, "by") ?? row.by),
    note: readText(data, "text", "note") ?? row.note,
    isTold: row.isTold || !isQueued,
  });
}
