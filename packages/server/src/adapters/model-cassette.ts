/** Model traffic in a file: recorded beside a vendor, and played in its place. One line per answer; no keys, no headers, no requests. */
import { appendFile, mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { AppError } from "@drover/contract";
import { z } from "zod";
import type { Cassettes, ModelVendor, VendorAnswer, VendorCall } from "../ports/model-vendor.ts";

const Entry = z.object({
  dialect: z.string(),
  path: z.string(),
  is_stream: z.boolean(),
  has_tools: z.boolean(),
  steps: z.int().nonnegative(),
  status: z.int(),
  content_type: z.string(),
  chunks: z.array(z.string()),
});
type Entry = z.infer<typeof Entry>;

type Facts = Omit<Entry, "status" | "content_type" | "chunks">;

/** What of a request is written down, and which answer fits one: decided elsewhere. */
export interface CassetteRule {
  readonly toFacts: (dialect: string, path: string, body: unknown) => Facts;
  /** The place in the list, or -1. */
  readonly pick: (entries: readonly Facts[], facts: Facts, used: ReadonlySet<number>) => number;
}

function readFacts(rule: CassetteRule, call: VendorCall): Facts {
  const text = call.body === undefined ? "{}" : Buffer.from(call.body).toString("utf8");
  return rule.toFacts(call.dialect, call.path, JSON.parse(text));
}

const CREDENTIALS = ["authorization", "x-api-key", "x-goog-api-key"];

/** A vendor may quote a key; a recording does not. */
function mask(call: VendorCall, text: string): string {
  let masked = text;
  for (const name of CREDENTIALS) {
    const secret = call.headers[name]?.replace(/^Bearer /, "");
    if (secret !== undefined && secret !== "") masked = masked.replaceAll(secret, "***");
  }
  return masked;
}

const WORDS = /"(?:text|content|delta|partial_json|thinking|arguments)"\s*:\s*"((?:[^"\\]|\\.)*)"/g;

/** A key that is said in pieces stands in no line, and could still be put together: such an answer is not kept. */
function isTelling(call: VendorCall, text: string): boolean {
  const words = Array.from(text.matchAll(WORDS), ([, word]) => word).join("");
  return mask(call, words) !== words;
}

/** Writes down answers that came to their end; others are not worth hearing again. */
export function openRecorder(path: string, vendor: ModelVendor, rule: CassetteRule): ModelVendor {
  let written: Promise<unknown> = mkdir(dirname(path), { recursive: true });
  const keep = (entry: Entry) => {
    written = written.then(() => appendFile(path, `${JSON.stringify(entry)}\n`, { mode: 0o600 }));
    return written;
  };
  async function* listen(call: VendorCall, answer: VendorAnswer): AsyncGenerator<Uint8Array> {
    const heard: Uint8Array[] = [];
    for await (const chunk of answer.body) {
      heard.push(chunk);
      yield chunk;
    }
    const text = mask(call, Buffer.concat(heard).toString("utf8"));
    if (isTelling(call, text)) return;
    const type = answer.headers["content-type"];
    await keep({
      ...readFacts(rule, call),
      status: answer.status,
      content_type: typeof type === "string" ? type : "application/json",
      // By events, not by what the network made of them.
      chunks: text.split(/(?<=\n\n)/),
    });
  }
  return {
    send: async (call, signal) => {
      const answer = await vendor.send(call, signal);
      const isKept = call.method === "POST" && answer.status < 400;
      return isKept ? { ...answer, body: listen(call, answer) } : answer;
    },
    close: async () => {
      await written;
      await vendor.close();
    },
  };
}

async function loadEntries(path: string): Promise<readonly Entry[]> {
  const text = await readFile(path, "utf8").catch((cause: unknown) => {
    throw new AppError("model.not_configured", `the recording ${path} cannot be read`, { cause });
  });
  try {
    return text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => Entry.parse(JSON.parse(line)));
  } catch (cause) {
    // Expected: a file that is something else.
    throw new AppError("model.not_configured", `${path} is not a recording of model calls`, { cause });
  }
}

async function* play(entry: Entry, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  for (const chunk of entry.chunks) {
    signal.throwIfAborted();
    yield Buffer.from(chunk);
  }
}

async function openPlayer(path: string, rule: CassetteRule): Promise<ModelVendor> {
  const entries = await loadEntries(path);
  const told = new Map<string, Set<number>>();
  return {
    send: async (call, signal) => {
      const used = told.get(call.subject) ?? new Set();
      told.set(call.subject, used);
      const found = rule.pick(entries, readFacts(rule, call), used);
      const entry = entries[found];
      if (entry === undefined)
        throw new AppError("model.not_configured", "the recording has no answer to this request; connect a real model");
      used.add(found);
      return {
        status: entry.status,
        headers: { "content-type": entry.content_type },
        body: play(entry, signal),
        isReplay: true,
      };
    },
    close: async () => told.clear(),
  };
}

/** `folder` holds those that come with Drover, by name. */
export function openCassettes(folder: string, rule: CassetteRule): Cassettes {
  const open = new Map<string, Promise<ModelVendor>>();
  return {
    open: (name) => {
      const path = /^[a-z0-9-]+$/.test(name) ? join(folder, `${name}.jsonl`) : name;
      const player = open.get(path) ?? openPlayer(path, rule);
      open.set(path, player);
      player.catch(() => open.delete(path));
      return player;
    },
  };
}
