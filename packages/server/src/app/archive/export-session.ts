/** One session as an archive, written as it is read: secrets masked, nothing of it in memory at once. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mapTexts, type SecretMask } from "@drover/core";
import { AppError, ArtifactId, type JsonObject, type SandboxId } from "@drover/contract";
import { listArtifacts, listSession } from "../../store/archive.ts";
import { insertAudit } from "../../store/audit.ts";
import { loadSandbox, type SandboxRow } from "../../store/sandboxes.ts";
import type { Person } from "../credential.ts";
import type { Deps } from "../deps.ts";
import { ensureCheckpoints, listPacks } from "../read-checkpoint.ts";
import {
  BUNDLE,
  chain,
  FORMAT,
  type ListedFile,
  MANIFEST,
  PART_BYTES,
  SEAL,
  type Session,
  SESSION,
  startChain,
  toLine,
  toManifest,
  toPart,
  VERSION,
} from "./format.ts";
import { toMask } from "./session-mask.ts";
import { END, writeEntry } from "./tar.ts";

const PAGE = 500;
const DIFF_BYTES = 2 * 1024 * 1024;

interface KeptArtifact {
  readonly id: string;
  readonly size: number;
  /** Where its masked form lies; undefined when it has none. */
  readonly file: string | undefined;
  readonly original: ArtifactId;
}

/** Writes the masked form beside, and says what it is called; undefined when nothing had to be masked. */
async function maskArtifact(
  mask: SecretMask,
  bytes: AsyncIterable<Uint8Array>,
  file: string,
): Promise<{ readonly id: string; readonly size: number } | undefined> {
  const handle = await open(file, "w", 0o600);
  const hash = createHash("sha256");
  let size = 0;
  let isMasked = false;
  const look = mask.openPieces();
  const put = async (piece: string, isEnd: boolean) => {
    const { text, isChanged } = look(piece, isEnd);
    isMasked ||= isChanged;
    const out = Buffer.from(text, "latin1");
    hash.update(out);
    size += out.byteLength;
    await handle.write(out);
  };
  try {
    // A byte is a character here: what is no text stays as it is.
    for await (const chunk of bytes) await put(Buffer.from(chunk).toString("latin1"), false);
    await put("", true);
  } finally {
    await handle.close();
  }
  if (isMasked) return { id: hash.digest("hex"), size };
  await rm(file);
  return undefined;
}

async function collectArtifacts(
  deps: Deps,
  id: SandboxId,
  mask: SecretMask,
  folder: string,
  packs: ReadonlySet<string>,
) {
  const kept = new Map<string, KeptArtifact>();
  const renamed = new Map<string, string>();
  let missing = 0;
  for (let after = ""; ;) {
    const page = await listArtifacts(deps.db, id, after, PAGE);
    for (const { id: original, size } of page) {
      if (packs.has(original)) continue;
      const blob = await deps.blobs.open(original);
      if (blob === undefined) {
        missing += 1;
        continue;
      }
      const file = join(folder, original);
      const masked = await maskArtifact(mask, blob.bytes as AsyncIterable<Uint8Array>, file);
      if (masked !== undefined) renamed.set(original, masked.id);
      const name = masked?.id ?? original;
      kept.set(name, { id: name, size: masked?.size ?? size, file: masked === undefined ? undefined : file, original });
    }
    if (page.length < PAGE) break;
    after = page.at(-1)?.id ?? after;
  }
  const artifacts = [...kept.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  return { artifacts, renamed, missing };
}

interface Workspace {
  readonly file: string;
  readonly size: number;
  readonly pack: string;
}

async function collectWorkspace(
  deps: Deps,
  id: SandboxId,
  mask: SecretMask,
  file: string,
  signal: AbortSignal,
): Promise<{ readonly workspace: Workspace | undefined; readonly withheld: string | null }> {
  const openCheck = () => {
    const look = mask.openPieces();
    return (piece: Buffer, isEnd: boolean) => look(piece.toString("latin1"), isEnd).isChanged;
  };
  try {
    const commits = await ensureCheckpoints(deps, id, signal);
    if (commits.length === 0) return { workspace: undefined, withheld: null };
    const made = await deps.checkpoints.bundle(id, commits, file, openCheck, signal);
    if (made === undefined) return { workspace: undefined, withheld: "a file of the workspace holds a secret" };
    return { workspace: { file, size: made.size, pack: made.packSha256 }, withheld: null };
  } catch (error) {
    // Expected: a worker sent packs that are none.
    if (!(error instanceof AppError) || error.code !== "checkpoint.unreadable") throw error;
    return { workspace: undefined, withheld: "its checkpoints cannot be read" };
  }
}

const toSession = (
  row: SandboxRow,
  mask: SecretMask,
  now: Date,
  withheld: string | null,
  missing: number,
): Session => ({
  format: FORMAT,
  version: VERSION,
  exported_at: now.toISOString(),
  workspace_withheld: withheld,
  missing_artifacts: missing,
  sandbox: mapTexts(
    {
      id: row.id,
      state: row.state,
      state_cause: row.state_cause,
      generation: row.generation,
      provider: row.provider,
      runtime: row.runtime,
      model: row.model,
      prompt: row.prompt,
      base_branch: row.base_branch,
      branch: row.branch,
      labels: row.labels,
      created_at: row.created_at.toISOString(),
      started_at: row.started_at?.toISOString() ?? null,
      ended_at: row.ended_at?.toISOString() ?? null,
      turn: row.turn,
      cost_usd: row.cost_usd,
      input_tokens: row.input_tokens,
      output_tokens: row.output_tokens,
      cache_read_tokens: row.cache_read_tokens,
      cache_write_tokens: row.cache_write_tokens,
    },
    mask.mask,
  ) as Session["sandbox"],
});

const ARTIFACT = /\b[0-9a-f]{64}\b/g;

/** Secrets masked, artifacts under their new names, packs replaced by the one of the bundle where a chain of checkpoints begins. */
function toData(
  row: { readonly event_type: string; readonly event_data: JsonObject },
  mask: SecretMask,
  renamed: ReadonlyMap<string, string>,
  pack: string | undefined,
): JsonObject {
  const change = (text: string) => mask.mask(text).replaceAll(ARTIFACT, (id) => renamed.get(id) ?? id);
  const data = mapTexts(row.event_data, change) as JsonObject;
  if (row.event_type !== "workspace.checkpoint") return data;
  const { pack_artifact: _one, pack_artifacts: _all, ...rest } = data;
  const isBeginning = typeof data["parent"] !== "string";
  return pack === undefined || !isBeginning ? rest : { ...rest, pack_artifacts: [pack] };
}

const asText = (value: unknown): string => (typeof value === "string" ? value : "");

/** What was said, for people. */
function toTranscript(type: string, data: JsonObject): string {
  if (type === "agent.message") return `\n**agent**\n\n${asText(data["content"])}\n`;
  if (type === "agent.message_injected") return `\n**user**\n\n${asText(data["content"])}\n`;
  if (type === "agent.tool_use")
    return `\n\`${asText(data["tool"])}\` ${JSON.stringify(data["input"] ?? {}).slice(0, 2_000)}\n`;
  if (type === "agent.completed" || type === "agent.failed") return `\n*${type}* ${asText(data["error"])}\n`;
  return "";
}

export interface Export {
  readonly name: string;
  readonly chunks: AsyncGenerator<Uint8Array>;
}

export async function exportSession(deps: Deps, actor: Person, id: SandboxId, signal: AbortSignal): Promise<Export> {
  const row = await loadSandbox.maybe(deps.db, id);
  if (row === undefined) throw new AppError("sandbox.not_found");
  await insertAudit(deps.db, {
    actor: actor.tokenId,
    action: "archive.export",
    target: id,
    project_id: row.project_id,
    detail: { last_seq: row.last_seq },
    request_id: null,
  });
  return { name: `${id}.drover.tar`, chunks: write(deps, row, signal) };
}

async function* write(deps: Deps, row: SandboxRow, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const folder = await mkdtemp(join(tmpdir(), "drover-export-"));
  try {
    const mask = await toMask(deps, row);
    const packs = await listPacks(deps, row.id);
    const { artifacts, renamed, missing } = await collectArtifacts(deps, row.id, mask, folder, packs);
    const { workspace, withheld } = await collectWorkspace(deps, row.id, mask, join(folder, BUNDLE), signal);
    const sealing = createHash("sha256");
    const files: ListedFile[] = [];

    async function* entry(
      name: string,
      size: number,
      chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
      isListed = true,
    ) {
      const hash = createHash("sha256");
      async function* watched() {
        for await (const chunk of chunks) {
          hash.update(chunk);
          yield chunk;
        }
      }
      for await (const chunk of writeEntry(name, size, watched())) {
        signal.throwIfAborted();
        sealing.update(chunk);
        yield chunk;
      }
      if (isListed) files.push({ path: name, size, sha256: hash.digest("hex") });
    }
    const text = (name: string, content: Buffer, isListed = true) =>
      entry(name, content.byteLength, [content], isListed);

    const session = Buffer.from(
      `${JSON.stringify(toSession(row, mask, deps.clock.now(), withheld, missing), null, 1)}\n`,
    );
    yield* text(SESSION, session);
    for (const one of artifacts) {
      const blob = one.file === undefined ? await deps.blobs.open(one.original) : undefined;
      const bytes = one.file === undefined ? blob?.bytes : createReadStream(one.file);
      if (bytes === undefined) throw new AppError("artifact.not_found", "an artifact went away while it was exported");
      yield* entry(`artifacts/${one.id}`, one.size, bytes as AsyncIterable<Uint8Array>);
    }
    if (workspace !== undefined)
      yield* entry(BUNDLE, workspace.size, createReadStream(workspace.file) as AsyncIterable<Uint8Array>);

    let head = startChain(session);
    let count = 0;
    const parts = { events: [] as string[], transcript: [] as string[], diffs: [] as string[] };
    const sizes = { events: 0, transcript: 0, diffs: 0 };
    const numbers = { events: 0, transcript: 0, diffs: 0 };
    const endings = { events: "jsonl", transcript: "md", diffs: "patch" } as const;
    const add = (part: keyof typeof parts, content: string) => {
      if (content === "") return;
      parts[part].push(content);
      sizes[part] += Buffer.byteLength(content);
    };
    async function* flush(part: keyof typeof parts, limit: number) {
      if (sizes[part] <= limit) return;
      numbers[part] += 1;
      const content = Buffer.from(parts[part].join(""));
      parts[part] = [];
      sizes[part] = 0;
      yield* text(toPart(part, numbers[part], endings[part]), content);
    }
    const toDiff = async (type: string, data: JsonObject): Promise<string> => {
      if (type !== "agent.file_edited") return "";
      const artifact = ArtifactId.safeParse(data["full_diff_artifact"]);
      const found = artifact.success ? artifacts.find(({ id: known }) => known === artifact.data) : undefined;
      if (found === undefined || found.size > DIFF_BYTES) return asText(data["full_diff"]);
      const bytes =
        found.file === undefined ? (await deps.blobs.open(found.original))?.bytes : createReadStream(found.file);
      const chunks: Uint8Array[] = [];
      if (bytes !== undefined) for await (const chunk of bytes as AsyncIterable<Uint8Array>) chunks.push(chunk);
      return Buffer.concat(chunks).toString("utf8");
    };

    for (;;) {
      const page = await listSession(deps.db, row.id, count, row.last_seq, PAGE);
      for (const event of page) {
        const data = toData(event, mask, renamed, workspace?.pack);
        const line = JSON.stringify({
          sandbox_id: row.id,
          sandbox_seq: event.sandbox_seq,
          event_type: event.event_type,
          event_data: data,
          source: event.source,
          created_at: event.created_at.toISOString(),
          generation: event.generation,
          caused_by_seq: event.caused_by_seq,
        });
        head = chain(head, line);
        count = event.sandbox_seq;
        add("events", toLine(head, line));
        add("transcript", toTranscript(event.event_type, data));
        add("diffs", await toDiff(event.event_type, data));
        for (const part of ["events", "transcript", "diffs"] as const) yield* flush(part, PART_BYTES);
      }
      if (page.length < PAGE) break;
    }
    for (const part of ["events", "transcript", "diffs"] as const) yield* flush(part, 0);
    yield* text(MANIFEST, Buffer.from(toManifest(row.id, { count, head }, files)), false);
    yield* text(SEAL, Buffer.from(`${sealing.copy().digest("hex")}\n`), false);
    yield END;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
