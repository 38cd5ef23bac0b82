/** Reads an archive from its first byte to its last and believes none of it: any byte that was changed, left out, added or moved is noticed. */
import { createHash } from "node:crypto";
import { ArtifactId, EVENT_DATA_LIMIT_BYTES, findJsonComplaint } from "@drover/contract";
import {
  ArchivedEvent,
  BUNDLE,
  chain,
  type ListedFile,
  MANIFEST,
  MANIFEST_BYTES,
  parseLine,
  PART_LIMIT_BYTES,
  SEAL,
  Session,
  SESSION,
  SESSION_BYTES,
  startChain,
  toManifest,
  toPart,
} from "./format.ts";
import { openTar, readWhole, refuse, type Entry } from "./tar.ts";

/** Files and events of one archive. */
const FILES = 200_000;
const EVENTS = 1_000_000;
const SEAL_BYTES = 65;

export interface ArchiveVisitor {
  onSession?(session: Session): Promise<void> | void;
  onArtifact?(id: ArtifactId, size: number, chunks: AsyncIterable<Uint8Array>): Promise<void>;
  onBundle?(size: number, chunks: AsyncIterable<Uint8Array>): Promise<void>;
  onEvent?(event: ArchivedEvent): Promise<void> | void;
}

export interface ReadArchive {
  readonly session: Session;
  readonly events: number;
  /** Of the chain: written down elsewhere, it tells this archive from every other. */
  readonly head: string;
  /** SHA-256 of everything before the seal: the archive's name. */
  readonly seal: string;
  readonly files: readonly ListedFile[];
}

const PARTS: Readonly<Record<string, string>> = { events: "jsonl", transcript: "md", diffs: "patch" };

const isText = (bytes: Uint8Array): string => {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    // Expected: somebody else wrote it.
    throw refuse("a text is not UTF-8");
  }
};

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Expected: the same.
    throw refuse("a text is not JSON");
  }
}

function parseEvent(text: string, sandboxId: string, number: number): ArchivedEvent {
  const value = parseJson(text);
  const complaint = findJsonComplaint(value);
  if (complaint !== undefined) throw refuse(`event ${number} ${complaint}`);
  const parsed = ArchivedEvent.safeParse(value);
  if (!parsed.success) throw refuse(`event ${number} is none: ${parsed.error.issues[0]?.message ?? ""}`);
  const event = parsed.data;
  if (event.sandbox_id !== sandboxId) throw refuse(`event ${number} is of another sandbox`);
  if (event.sandbox_seq !== number) throw refuse(`event ${event.sandbox_seq} stands where ${number} should`);
  if (event.caused_by_seq !== null && event.caused_by_seq >= number) throw refuse(`event ${number} is its own cause`);
  if (Buffer.byteLength(JSON.stringify(event.event_data)) > EVENT_DATA_LIMIT_BYTES)
    throw refuse(`event ${number} is too large`);
  return event;
}

/** Hashes what passes. */
async function* watch(chunks: AsyncIterable<Uint8Array>, hash: ReturnType<typeof createHash>) {
  for await (const chunk of chunks) {
    hash.update(chunk);
    yield chunk;
  }
}

/** Rejects with `archive.invalid`. What a visitor was told before that has to be taken back: only the end says that all of it is true. */
export async function readArchive(
  source: AsyncIterable<Uint8Array>,
  visitor: ArchiveVisitor = {},
): Promise<ReadArchive> {
  const tar = openTar(source);
  const files: ListedFile[] = [];
  const next = async (): Promise<Entry> => {
    const entry = await tar.next();
    if (entry === undefined) throw refuse("the archive ends too early");
    return entry;
  };
  const note = (path: string, size: number, sha256: string) => {
    if (files.length >= FILES) throw refuse("there are too many files");
    files.push({ path, size, sha256 });
  };

  const first = await next();
  if (first.name !== SESSION) throw refuse(`an archive begins with ${SESSION}`);
  const about = await readWhole(first, SESSION_BYTES);
  const parsed = Session.safeParse(parseJson(isText(about)));
  if (!parsed.success)
    throw refuse(
      `${SESSION}: ${parsed.error.issues[0]?.path.join(".") ?? ""} ${parsed.error.issues[0]?.message ?? ""}`,
    );
  const session = parsed.data;
  if (findJsonComplaint(session) !== undefined) throw refuse(`${SESSION} holds what cannot be kept`);
  note(SESSION, first.size, createHash("sha256").update(about).digest("hex"));
  await visitor.onSession?.(session);

  let head = startChain(about);
  let events = 0;
  let lastArtifact = "";
  let stage = 0;
  const parts: Record<string, number> = { events: 0, transcript: 0, diffs: 0 };

  const readEvents = async (bytes: Uint8Array) => {
    const text = isText(bytes);
    if (!text.endsWith("\n")) throw refuse("a line of events is cut");
    for (const line of text.slice(0, -1).split("\n")) {
      const found = parseLine(line);
      if (found === undefined || chain(head, found.event) !== found.hash)
        throw refuse(`the chain breaks at event ${events + 1}`);
      if (events >= EVENTS) throw refuse("there are too many events");
      events += 1;
      head = found.hash;
      const event = parseEvent(found.event, session.sandbox.id, events);
      await visitor.onEvent?.(event);
    }
  };

  /** Order is part of the form: artifacts by name, the workspace, then parts as they were filled. */
  const readFile = async (entry: Entry) => {
    const hash = createHash("sha256");
    const chunks = watch(entry.chunks, hash);
    const [folder = "", name = ""] = entry.name.split("/");
    const ending = PARTS[folder];
    if (folder === "artifacts" && stage === 0) {
      const id = ArtifactId.safeParse(name);
      if (!id.success || name <= lastArtifact) throw refuse(`${entry.name} is not an artifact in its place`);
      lastArtifact = name;
      if (visitor.onArtifact === undefined) for await (const _ of chunks);
      else await visitor.onArtifact(id.data, entry.size, chunks);
      for await (const _ of chunks);
      const digest = hash.digest("hex");
      if (digest !== name) throw refuse(`${entry.name} is not what its name says`);
      return digest;
    }
    if (entry.name === BUNDLE && stage === 0) {
      stage = 1;
      if (visitor.onBundle !== undefined) await visitor.onBundle(entry.size, chunks);
      for await (const _ of chunks);
      return hash.digest("hex");
    }
    if (ending === undefined || Object.hasOwn(PARTS, folder) !== true)
      throw refuse(`${entry.name} does not belong into an archive`);
    stage = 1;
    parts[folder] = (parts[folder] ?? 0) + 1;
    if (entry.name !== toPart(folder, parts[folder], ending)) throw refuse(`${entry.name} is not in its place`);
    const bytes = await readWhole({ ...entry, chunks }, PART_LIMIT_BYTES);
    if (folder === "events") await readEvents(bytes);
    return hash.digest("hex");
  };

  let entry = await next();
  while (entry.name !== MANIFEST) {
    note(entry.name, entry.size, await readFile(entry));
    entry = await next();
  }
  const manifest = await readWhole(entry, MANIFEST_BYTES);
  if (isText(manifest) !== toManifest(session.sandbox.id, { count: events, head }, files))
    throw refuse("the manifest does not list what is there");

  const last = await next();
  if (last.name !== SEAL || last.size !== SEAL_BYTES) throw refuse("the seal is missing");
  const seal = tar.sealed();
  if (isText(await readWhole(last, SEAL_BYTES)) !== `${seal}\n`) throw refuse("the seal is broken");
  if ((await tar.next()) !== undefined) throw refuse("something follows the seal");
  return { session, events, head, seal, files };
}
