/** Which drawing a row gets. */
import type { FeedRow } from "@drover/contract/views";
import { memo, type ReactNode } from "react";
import { Boundary } from "../ui/boundary.tsx";
import { Edits } from "./rows/edit.tsx";
import { Permission } from "./rows/permission.tsx";
import { AgentMessage, Person, Thinking } from "./rows/said.tsx";
import { Guardian, Heartbeats, Lifecycle, RunError, Unknown, Usage } from "./rows/system.tsx";
import { Command, OtherTool, Reads, Todo } from "./rows/tools.tsx";

function draw(row: FeedRow): ReactNode {
  switch (row.kind) {
    case "message":
      return <AgentMessage row={row} />;
    case "thinking":
      return <Thinking row={row} />;
    case "person":
      return <Person row={row} />;
    case "command":
      return <Command row={row} />;
    case "reads":
      return <Reads row={row} />;
    case "tool":
      return <OtherTool row={row} />;
    case "edit":
      return <Edits row={row} />;
    case "todo":
      return <Todo row={row} />;
    case "permission":
      return <Permission row={row} />;
    case "guardian":
      return <Guardian row={row} />;
    case "lifecycle":
      return <Lifecycle row={row} />;
    case "error":
      return <RunError row={row} />;
    case "heartbeats":
      return <Heartbeats row={row} />;
    case "usage":
      return <Usage row={row} />;
    case "unknown":
      return <Unknown row={row} />;
  }
}

/** A row that cannot be drawn must not take the feed with it. */
export const Row = memo(function Row({ row }: { readonly row: FeedRow }) {
  return (
    <Boundary fallback={() => <p className="px-5 py-2 text-xs text-fail-ink">Event {row.seq} could not be drawn.</p>}>
      {draw(row)}
    </Boundary>
  );
});
