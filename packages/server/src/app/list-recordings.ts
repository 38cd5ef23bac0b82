/** Recordings of a sandbox's terminals, newest first. The log tells of each; the bytes are artifacts. */
import { AppError, ArtifactId, type Recording, type SandboxId } from "@drover/contract";
import { z } from "zod";
import { listEvents } from "../store/events.ts";
import { findRecording } from "../store/moments.ts";
import { loadSandbox } from "../store/sandboxes.ts";
import { parseCursor } from "./cursor.ts";
import type { Deps } from "./deps.ts";

export const RECORDED_EVENT = "terminal.recorded";

/** What this server wrote itself, of whichever version. */
const Recorded = z.looseObject({
  artifact_id: ArtifactId,
  size: z.number(),
  columns: z.number(),
  rows: z.number(),
  duration_ms: z.number(),
  is_truncated: z.boolean(),
  opened_by: z.string().nullable().default(null),
});

const Seq = z.string().regex(/^[1-9]\d{0,14}$/);

export async function listRecordings(
  deps: Deps,
  sandboxId: SandboxId,
  query: { readonly limit: number; readonly cursor?: string | undefined },
): Promise<{ items: Recording[]; next_cursor: string | null }> {
  if ((await loadSandbox.maybe(deps.db, sandboxId)) === undefined) throw new AppError("sandbox.not_found");
  const cursor = parseCursor(Seq, query.cursor);
  const found = await listEvents(
    deps.db,
    { sandboxId },
    {
      limit: query.limit + 1,
      offset: 0,
      event_type: [RECORDED_EVENT],
      ...(cursor === undefined ? {} : { before_seq: Number(cursor) }),
    },
    "desc",
  );
  const shown = found.slice(0, query.limit);
  return {
    items: shown.map((event): Recording => {
      const { artifact_id, size, columns, rows, duration_ms, is_truncated, opened_by } = Recorded.parse(
        event.event_data,
      );
      const recorded_at = event.created_at.toISOString();
      return {
        artifact_id,
        event_id: event.id,
        size,
        columns,
        rows,
        duration_ms,
        is_truncated,
        opened_by,
        recorded_at,
      };
    }),
    next_cursor: found.length > query.limit ? String(shown.at(-1)?.seq) : null,
  };
}

/** Whether these bytes are the recording of a terminal of this sandbox. */
export async function isRecording(deps: Deps, sandboxId: SandboxId, artifactId: ArtifactId): Promise<boolean> {
  return (await findRecording.maybe(deps.db, sandboxId, RECORDED_EVENT, artifactId)) !== undefined;
}
