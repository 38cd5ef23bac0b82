/** A conversation on disk: what it was begun with, without its key, and its events, one line each. */
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { replaceFile } from "./replace-file.ts";
import type { ExecutionStatus, LogEvent } from "./wire.ts";

const Meta = z.looseObject({
  id: z.uuid(),
  model: z.string(),
  base_url: z.string().nullable(),
  tools: z.array(z.enum(["terminal", "file_editor"])),
  working_dir: z.string(),
  max_iterations: z.number(),
  stuck_detection: z.boolean(),
  is_confirming: z.boolean(),
  title: z.string().nullable(),
  created_at: z.string(),
  input_tokens: z.number(),
  output_tokens: z.number(),
  cache_read_tokens: z.number(),
  /** Dollars for a token; null: nobody told. */
  prices: z.object({ input: z.number(), output: z.number() }).nullable().default(null),
  /** null: some of it had no price. */
  cost_usd: z.number().nullable().default(null),
});
export type Meta = z.infer<typeof Meta>;

export interface EventLog {
  readonly events: readonly LogEvent[];
  /** On disk when it returns: what a webhook is owed is read off it. */
  append(event: LogEvent): void;
  saveMeta(meta: Meta): void;
  /** From here on the conversation is no more; its events stay until they are erased. */
  remove(): void;
}

const META = "meta.json";
const EVENTS = "events.jsonl";

export function openEventLog(directory: string, id: string): EventLog {
  const folder = join(directory, id);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, EVENTS);
  const text = existsSync(path) ? readFileSync(path, "utf8") : "";
  // The last line may have been cut when the process was killed.
  const lines = text.split("\n").filter((line) => line !== "");
  const events = lines.flatMap((line) => {
    try {
      return [JSON.parse(line) as LogEvent];
    } catch {
      return [];
    }
  });
  if (text !== "" && (!text.endsWith("\n") || events.length < lines.length))
    writeFileSync(path, events.map((event) => `${JSON.stringify(event)}\n`).join(""), { mode: 0o600 });
  return {
    events,
    append: (event) => {
      appendFileSync(path, `${JSON.stringify(event)}\n`, { mode: 0o600, flush: true });
      events.push(event);
    },
    saveMeta: (meta) => replaceFile(join(folder, META), JSON.stringify(meta)),
    remove: () => rmSync(join(folder, META), { force: true }),
  };
}

export const eraseLog = (directory: string, id: string) =>
  rmSync(join(directory, id), { recursive: true, force: true });

/** Conversations that were removed and not erased. */
export const listRemoved = (directory: string): readonly string[] =>
  readdirSync(directory).filter(
    (name) => existsSync(join(directory, name, EVENTS)) && !existsSync(join(directory, name, META)),
  );

function readMeta(path: string): Meta | undefined {
  try {
    return Meta.safeParse(JSON.parse(readFileSync(path, "utf8"))).data;
  } catch {
    return undefined; // expected: the machine went down while it was written
  }
}

/** Conversations of earlier processes, and the files of those that cannot be read, which stay as they are. */
export function listKept(directory: string): {
  readonly kept: readonly Meta[];
  readonly unreadable: readonly string[];
} {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const paths = readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name, META);
    return entry.isDirectory() && existsSync(path) ? [path] : [];
  });
  const read = paths.map((path) => ({ path, meta: readMeta(path) }));
  return {
    kept: read.flatMap(({ meta }) => meta ?? []),
    unreadable: read.flatMap(({ path, meta }) => (meta === undefined ? [path] : [])),
  };
}

/** What a log says it was; one that was at work when its process ended stands paused. */
export function readStatus(events: readonly LogEvent[]): ExecutionStatus {
  const last = events.findLast(
    ({ kind, key }) => kind === "ConversationStateUpdateEvent" && key === "execution_status",
  );
  const status = (last?.["value"] ?? "idle") as ExecutionStatus;
  return status === "running" || status === "waiting_for_confirmation" ? "paused" : status;
}
