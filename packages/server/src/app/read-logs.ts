/** The worker's own log: read from inside while the sandbox stands, and kept before it is destroyed. */
import { buffer } from "node:stream/consumers";
import {
  AppError,
  ArtifactId,
  TERMINAL_SANDBOX_STATES,
  type LogsQuery,
  type SandboxId,
  type WorkerLog,
} from "@drover/contract";
import { listEvents } from "../store/events.ts";
import { loadSandbox, type SandboxRow } from "../store/sandboxes.ts";
import { writeSandboxEvents } from "./change-state.ts";
import type { Deps } from "./deps.ts";
import { draftSandboxEvent } from "./event-log.ts";
import { openArtifact } from "./keep-artifacts.ts";
import { loadRunning, type Standing } from "./load-standing.ts";
import { storeBytes } from "./store-bytes.ts";
import { WORKER_LOG } from "./worker-command.ts";

const READ_LIMIT_MS = 10_000;
/** Longer than reading ever takes; a paused sandbox does not answer at all. */
const KEEP_LIMIT_MS = 3_000;
const KEPT_BYTES = 256 * 1024;
const KEPT_EVENT = "sandbox.log_kept";

interface Slice {
  readonly bytes: Uint8Array;
  readonly offset: number;
  readonly size: number;
}

/** The size on the first line, then the asked bytes. An offset of -1 asks for the end. */
const READ = `size=$(stat -c %s -- "$1" 2>/dev/null) || size=0
start=$2; [ "$start" -ge 0 ] || start=$((size - $3)); [ "$start" -ge 0 ] || start=0; [ "$start" -le "$size" ] || start=$size
echo "$size $start"
[ "$size" -eq 0 ] || tail -c "+$((start + 1))" -- "$1" | head -c "$3"`;

async function readSlice(
  { provider, ref }: Pick<Standing, "provider" | "ref">,
  offset: number | undefined,
  most: number,
  signal: AbortSignal,
): Promise<Slice> {
  const argv = ["/bin/sh", "-c", READ, "sh", WORKER_LOG, String(offset ?? -1), String(most)] as const;
  const chunks: Uint8Array[] = [];
  for await (const event of provider.exec(ref, { argv, timeoutMs: READ_LIMIT_MS }, signal)) {
    if (event.type === "stdout") chunks.push(event.chunk);
    else if (event.type === "exit" && (event.code !== 0 || event.isTimedOut))
      throw new AppError("sandbox.unavailable", "the worker's log cannot be read now");
  }
  const said = Buffer.concat(chunks);
  const end = said.indexOf("\n");
  const [size = 0, start = 0] = said.subarray(0, Math.max(0, end)).toString("utf8").split(" ").map(Number);
  // Whatever stands inside is a claim: numbers that are none would lead a reader astray.
  if (!Number.isSafeInteger(size) || !Number.isSafeInteger(start) || end === -1)
    throw new AppError("sandbox.unavailable", "the worker's log cannot be read now");
  return { bytes: said.subarray(end + 1, end + 1 + most), offset: start, size };
}

const toLog = (id: SandboxId, source: WorkerLog["source"], { bytes, offset }: Omit<Slice, "size">): WorkerLog => ({
  sandbox_id: id,
  source,
  text: new TextDecoder("utf-8").decode(bytes),
  offset,
  next_offset: offset + bytes.length,
});

/** What the event says that tells of the kept log. */
async function findKept(deps: Deps, sandboxId: SandboxId): Promise<Readonly<Record<string, unknown>> | undefined> {
  const [event] = await listEvents(deps.db, { sandboxId }, { limit: 1, offset: 0, event_type: [KEPT_EVENT] }, "desc");
  return event?.event_data as Readonly<Record<string, unknown>> | undefined;
}

async function readKept(deps: Deps, id: SandboxId, query: LogsQuery): Promise<WorkerLog> {
  const data = await findKept(deps, id);
  const artifact = ArtifactId.safeParse(data?.["artifact_id"]);
  if (!artifact.success) return toLog(id, "none", { bytes: new Uint8Array(), offset: query.offset ?? 0 });
  const all = await buffer((await openArtifact(deps, id, artifact.data)).bytes);
  // Only the end was kept: offsets go on counting from the beginning of the whole log.
  const first = Number(data?.["offset"] ?? 0);
  const from = query.offset === undefined ? all.length - query.bytes : query.offset - first;
  const start = Math.min(Math.max(0, from), all.length);
  return toLog(id, "kept", { bytes: all.subarray(start, start + query.bytes), offset: first + start });
}

export async function readLogs(deps: Deps, id: SandboxId, query: LogsQuery, signal: AbortSignal): Promise<WorkerLog> {
  const row = await loadSandbox.maybe(deps.db, id);
  if (
    row !== undefined &&
    row.provider !== "external" &&
    (row.closed_at !== null || TERMINAL_SANDBOX_STATES.has(row.state))
  )
    return readKept(deps, id, query);
  return toLog(id, "sandbox", await readSlice(await loadRunning(deps, id), query.offset, query.bytes, signal));
}

/** Saves the end of the log. Called before a sandbox is destroyed; what cannot be read any more is not waited for. */
export async function keepLogs(
  deps: Deps,
  standing: Pick<Standing, "provider" | "ref"> & { readonly row: SandboxRow },
  signal: AbortSignal,
): Promise<void> {
  const { id } = standing.row;
  if ((await findKept(deps, id)) !== undefined) return;
  const patience = AbortSignal.any([signal, AbortSignal.timeout(KEEP_LIMIT_MS)]);
  const { bytes, offset } = await readSlice(standing, undefined, KEPT_BYTES, patience);
  if (bytes.length === 0) return;
  const artifact_id = await storeBytes(deps, id, bytes);
  await writeSandboxEvents(deps, id, (row) => [
    draftSandboxEvent(deps.ids, row, { eventType: KEPT_EVENT, data: { artifact_id, size: bytes.length, offset } }),
  ]);
}
