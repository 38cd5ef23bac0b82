/** Files of a sandbox, in and out. */
import { posix } from "node:path";
import { AppError } from "@drover/contract";
import type { Sandbox } from "@daytona/sdk";
import { z } from "zod";
import type { FileEntry } from "../../ports/sandbox-provider.ts";
import { toListCommand, WORKSPACE } from "./in-sandbox.ts";

const toAbsolute = (path: string) => posix.resolve(WORKSPACE, path);

export async function uploadFile(sandbox: Sandbox, path: string, bytes: Uint8Array, mode?: number): Promise<void> {
  const absolute = toAbsolute(path);
  await sandbox.fs.uploadFile(Buffer.from(bytes), absolute);
  if (mode !== undefined) await sandbox.fs.setFilePermissions(absolute, { mode: mode.toString(8).padStart(4, "0") });
}

export async function downloadFile(
  sandbox: Sandbox,
  path: string,
  limitBytes: number,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const absolute = toAbsolute(path);
  const { mode, size } = await sandbox.fs.getFileDetails(absolute);
  // As Go writes it, https://pkg.go.dev/io/fs#FileMode: only a plain file begins with a dash.
  if (!mode.startsWith("-")) throw new AppError("sandbox.rejected", `${path} is not a file`);
  const tooLarge = () => new AppError("sandbox.rejected", `${path} is larger than ${limitBytes} bytes`);
  if (size > limitBytes) throw tooLarge();
  const chunks: Uint8Array[] = [];
  let total = 0;
  for await (const chunk of await sandbox.fs.downloadFileStream(absolute, { signal })) {
    if (typeof chunk === "string") throw new TypeError("the SDK gives bytes");
    total += chunk.length;
    // It may have grown since.
    if (total > limitBytes) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const Listing = z.union([
  z.object({
    entries: z.array(
      z.object({
        name: z.string(),
        kind: z.enum(["file", "directory", "symlink", "other"]),
        size: z.number(),
        modifiedMs: z.number(),
      }),
    ),
  }),
  z.object({ code: z.string() }),
]);

export async function listDirectory(sandbox: Sandbox, path: string): Promise<readonly FileEntry[]> {
  const { result } = await sandbox.process.executeCommand(toListCommand(toAbsolute(path)));
  const listing = Listing.parse(JSON.parse(result));
  if ("entries" in listing)
    return listing.entries.map(({ modifiedMs, ...entry }) => ({ ...entry, modifiedAt: new Date(modifiedMs) }));
  throw new AppError(listing.code === "ENOENT" ? "file.not_found" : "sandbox.rejected", `${path}: ${listing.code}`);
}
