/** What can be found of a row: everything it shows, opened or folded. */
import type { FeedRow, FileEdit, ToolCall } from "./feed-row.ts";
import { toSubject } from "./feed-tools.ts";

const ofCall = (call: ToolCall | null): string =>
  call === null ? "" : `${call.tool} ${toSubject(call)} ${call.output ?? ""}`;
const ofEdit = (edit: FileEdit): string => `${edit.path} ${edit.oldPath ?? ""} ${edit.patch}`;

function toSearchText(row: FeedRow): string {
  switch (row.kind) {
    case "message":
    case "thinking":
    case "person":
      return row.text;
    case "tool":
    case "command":
      return ofCall(row.call);
    case "reads":
      return row.calls.map(ofCall).join(" ");
    case "edit":
      return `${ofCall(row.call)} ${row.edits.map(ofEdit).join(" ")}`;
    case "todo":
      return row.items.map((item) => item.text).join(" ");
    case "permission":
      return `${row.tool ?? ""} ${row.detail} ${JSON.stringify(row.input)} ${row.answer ?? ""} ${row.note ?? ""}`;
    case "guardian":
      return `${row.title} ${row.text}`;
    case "lifecycle":
      return `${row.title} ${row.detail ?? ""}`;
    case "error":
      return `${row.title} ${row.detail}`;
    case "unknown":
      return `${row.eventType} ${JSON.stringify(row.data)}`;
    case "heartbeats":
      return "heartbeat";
    case "usage":
      return "model calls tokens";
  }
}

/** Case does not matter; a row found once stays found while it does not change. */
export function createFinder(query: string): (row: FeedRow) => boolean {
  const wanted = query.toLowerCase();
  const known = new WeakMap<FeedRow, boolean>();
  return (row) => {
    const before = known.get(row);
    if (before !== undefined) return before;
    const isFound = toSearchText(row).toLowerCase().includes(wanted);
    known.set(row, isFound);
    return isFound;
  };
}
