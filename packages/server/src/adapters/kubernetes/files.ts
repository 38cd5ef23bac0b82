/** Files of a pod, in and out, by programs inside it: no link can lead anywhere but into the sandbox's own files. */
import { posix } from "node:path";
import { AppError } from "@drover/contract";
import { z } from "zod";
import type { FileEntry } from "../../ports/sandbox-provider.ts";
import type { Client } from "./client.ts";
import { GET, LIST, PUT } from "./inside.ts";
import { WORKSPACE } from "./pod.ts";
import { runInside } from "./run-inside.ts";

const HEADER_BYTES = 1_000;
const LISTING_BYTES = 64 * 1024 * 1024;
const Outcome = z.object({ code: z.string().optional() });
const MISSING: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR"]);

const toAbsolute = (path: string) => {
  if (path.includes("\0")) throw new AppError("sandbox.rejected", "A path holds a zero byte");
  return posix.resolve(WORKSPACE, path);
};

function refuse(path: string, { code }: z.infer<typeof Outcome>): void {
  if (code !== undefined)
    throw new AppError(MISSING.has(code) ? "file.not_found" : "sandbox.rejected", `${path}: ${code}`);
}

export async function uploadFile(
  client: Client,
  pod: string,
  path: string,
  { bytes, mode }: { readonly bytes: Uint8Array; readonly mode: number | undefined },
  signal: AbortSignal,
): Promise<void> {
  const order = { path: toAbsolute(path), mode };
  const answer = await runInside(client, pod, { program: PUT, order, payload: bytes }, HEADER_BYTES, signal);
  refuse(path, Outcome.parse(JSON.parse(answer.toString())));
}

export async function downloadFile(
  client: Client,
  pod: string,
  path: string,
  limitBytes: number,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const order = { path: toAbsolute(path), limit: limitBytes };
  const answer = await runInside(client, pod, { program: GET, order }, limitBytes + HEADER_BYTES, signal);
  const border = answer.indexOf("\n");
  refuse(path, Outcome.parse(JSON.parse(answer.subarray(0, border).toString())));
  const bytes = answer.subarray(border + 1);
  // It may have grown since it was looked at.
  if (bytes.length > limitBytes) throw new AppError("sandbox.rejected", `${path} is larger than ${limitBytes} bytes`);
  return bytes;
}

const Listing = Outcome.extend({
  entries: z
    .array(
      z.object({
        name: z.string(),
        kind: z.enum(["file", "directory", "symlink", "other"]),
        size: z.number(),
        modifiedMs: z.number(),
      }),
    )
    .default([]),
});

export async function listDirectory(
  client: Client,
  pod: string,
  path: string,
  signal: AbortSignal,
): Promise<readonly FileEntry[]> {
  const order = { path: toAbsolute(path) };
  const answer = await runInside(client, pod, { program: LIST, order }, LISTING_BYTES, signal);
  const listing = Listing.parse(JSON.parse(answer.toString()));
  refuse(path, listing);
  return listing.entries.map(({ modifiedMs, ...entry }) => ({ ...entry, modifiedAt: new Date(modifiedMs) }));
}
