/** An archive becomes a finished run that can be read and replayed; one that is not as it was written leaves no trace. */
import { createReadStream } from "node:fs";
import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { toTraits } from "@drover/core";
import {
  AppError,
  type ArtifactId,
  type ProjectId,
  type Sandbox,
  type SandboxId,
  TERMINAL_SANDBOX_STATES,
} from "@drover/contract";
import {
  appendStaged,
  dropStaged,
  findArchive,
  insertArchive,
  insertImported,
  lockArchive,
  stageEvents,
  type StagedEvent,
} from "../../store/archive.ts";
import { insertArtifact } from "../../store/artifacts.ts";
import { insertAudit } from "../../store/audit.ts";
import { loadSandbox } from "../../store/sandboxes.ts";
import type { Person } from "../credential.ts";
import type { Deps } from "../deps.ts";
import { toSandbox } from "../view-sandbox.ts";
import type { ArchivedEvent, Session } from "./format.ts";
import { readArchive } from "./read-archive.ts";
import { refuse } from "./tar.ts";

const MEBIBYTE = 1024 * 1024;
const BATCH = 500;
const WORKERS: ReadonlySet<string> = new Set(["agent", "worker", "system"]);
const HEADER_BYTES = 16 * MEBIBYTE;

export interface Import {
  readonly projectId: ProjectId;
  /** SHA-256 of the archive, as its seal says. */
  readonly seal: string;
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** To a file, within the limit: it is read twice, once to believe it and once to keep it. */
async function receive(bytes: AsyncIterable<Uint8Array>, file: string, limit: number): Promise<void> {
  const handle = await open(file, "wx", 0o600);
  let size = 0;
  try {
    for await (const chunk of bytes) {
      size += chunk.byteLength;
      if (size > limit)
        throw new AppError("request.too_large", `an archive has at most ${limit} bytes (DROVER_ARCHIVE_LIMIT_MB)`);
      await handle.write(chunk);
    }
  } finally {
    await handle.close();
  }
}

function toStaged(deps: Deps, event: ArchivedEvent): StagedEvent {
  const { sandbox_id: _id, ...rest } = event;
  const traits = toTraits(event.event_type, event.event_data, !WORKERS.has(event.source));
  return {
    ...rest,
    id: deps.ids.event(),
    turn: traits.turn,
    tool: traits.tool,
    ref: traits.ref,
    flags: traits.flags,
    size: Buffer.byteLength(JSON.stringify(event.event_data)),
  };
}

/** The pack behind a bundle's header. */
async function* skipHeader(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let header = Buffer.alloc(0);
  let isPack = false;
  for await (const chunk of chunks) {
    if (isPack) {
      yield chunk;
      continue;
    }
    header = Buffer.concat([header, chunk]);
    const end = header.indexOf("\n\n");
    if (end < 0 && header.length > HEADER_BYTES) throw refuse("the bundle has no end of its header");
    if (end < 0) continue;
    isPack = true;
    yield header.subarray(end + 2);
    header = Buffer.alloc(0);
  }
}

const toState = ({ sandbox: { state, state_cause: cause, ended_at, created_at } }: Session) =>
  TERMINAL_SANDBOX_STATES.has(state)
    ? { state, state_cause: cause, ended_at: ended_at ?? created_at }
    : {
        state: "terminated" as const,
        state_cause: `was ${state} when it was archived`,
        ended_at: ended_at ?? created_at,
      };

async function keep(
  deps: Deps,
  actor: Person,
  file: string,
  { projectId, seal }: Import,
  pack: { readonly id: ArtifactId; readonly size: number } | undefined,
): Promise<SandboxId> {
  const id = deps.ids.sandbox(undefined);
  const importId = crypto.randomUUID();
  const limit = deps.config.archiveLimitMb * MEBIBYTE;
  const kept: { id: ArtifactId; size: number }[] = [];
  let waiting: StagedEvent[] = [];
  const flush = async () => {
    const batch = waiting;
    waiting = [];
    if (batch.length > 0) await stageEvents(deps.db, importId, batch);
  };
  try {
    const { session, events } = await readArchive(createReadStream(file), {
      onArtifact: async (artifact, size, chunks) => {
        await deps.blobs.put(artifact, Readable.from(chunks), limit);
        kept.push({ id: artifact, size });
      },
      onBundle: async (_size, chunks) => {
        if (pack === undefined) return;
        await deps.blobs.put(pack.id, Readable.from(skipHeader(chunks)), limit);
        kept.push(pack);
      },
      onEvent: async (event) => {
        waiting.push(toStaged(deps, event));
        if (waiting.length >= BATCH) await flush();
      },
    });
    await flush();
    const { sandbox } = session;
    return await deps.db.tx(async (tx) => {
      await lockArchive(tx, seal);
      const known = await findArchive.maybe(tx, projectId, seal);
      if (known !== undefined) return known.sandbox_id;
      const { id: from, state: _state, state_cause: _cause, ended_at: _ended, labels, ...rest } = sandbox;
      await insertImported(tx, {
        ...rest,
        ...toState(session),
        id,
        project_id: projectId,
        created_by: actor.tokenId,
        labels: { ...labels, "archive.sandbox": from, "archive.seal": seal },
      });
      for (const artifact of kept) await insertArtifact(tx, id, artifact.id, artifact.size);
      await insertArchive(tx, projectId, seal, id);
      await insertAudit(tx, {
        actor: actor.tokenId,
        action: "archive.import",
        target: id,
        project_id: projectId,
        detail: { from, seal, events },
        request_id: null,
      });
      // Last, because its lock stops everybody else.
      if (events > 0) await appendStaged.one(tx, importId, id, events);
      return id;
    });
  } finally {
    await dropStaged(deps.db, importId);
  }
}

/** Which artifact the events say the workspace's pack is: it has to be the one that is there. */
async function findPack(
  file: string,
): Promise<{ readonly seal: string; readonly pack: { id: ArtifactId; size: number } | undefined }> {
  const { createHash } = await import("node:crypto");
  let pack: { id: ArtifactId; size: number } | undefined;
  const { seal } = await readArchive(createReadStream(file), {
    onBundle: async (_size, chunks) => {
      const hash = createHash("sha256");
      let size = 0;
      for await (const chunk of skipHeader(chunks)) {
        hash.update(chunk);
        size += chunk.byteLength;
      }
      pack = { id: hash.digest("hex") as ArtifactId, size };
    },
  });
  return { seal, pack };
}

export async function importSession(deps: Deps, actor: Person, given: Import): Promise<Sandbox> {
  const folder = await mkdtemp(join(tmpdir(), "drover-import-"));
  const file = join(folder, "archive.tar");
  try {
    await receive(given.bytes, file, deps.config.archiveLimitMb * MEBIBYTE);
    const { seal, pack } = await findPack(file);
    if (seal !== given.seal) throw refuse("this is another archive than the address says");
    const known = await findArchive.maybe(deps.db, given.projectId, seal);
    const id = known?.sandbox_id ?? (await keep(deps, actor, file, given, pack));
    const row = await loadSandbox.one(deps.db, id);
    return toSandbox(row, deps);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
