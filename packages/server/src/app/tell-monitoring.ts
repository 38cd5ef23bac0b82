/** What this process's supervision tells about itself: that it watches, that it stops, that a pass failed, that a look was taken. */
import type { JsonObject, ProjectId } from "@drover/contract";
import type { Deps } from "./deps.ts";
import { draftEvent, writeWithEvents } from "./event-log.ts";

export async function tellMonitoring(
  deps: Deps,
  eventType: `monitoring.${"started" | "stopped" | "cycle.failed" | "system.updated"}`,
  data: JsonObject,
  projectId: ProjectId | null = null,
): Promise<void> {
  const entity = { type: "monitoring_loop", id: deps.instance, projectId };
  await writeWithEvents(deps, (_tx, append) =>
    append([draftEvent(deps.ids, entity, { eventType, data: { instance: deps.instance, ...data } })]),
  );
}
