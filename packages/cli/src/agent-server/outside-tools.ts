/** Commands and files of the agent server's machine, for a client that has the session's key: as current OpenHands clients ask for them. */
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, stat, writeFile } from "node:fs/promises";
import { dirname, isAbsolute } from "node:path";
import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { z } from "zod";
import { Refusal } from "./conversation.ts";
import { toAgentEnv } from "./tools.ts";

const OUTPUT_BYTES = 1024 * 1024;
const FILE_BYTES = 64 * 1024 * 1024;

export const BashCommand = z.looseObject({
  command: z.string().min(1).max(1_000_000),
  cwd: z.string().max(4_096).nullish(),
  timeout: z.number().positive().max(86_400).default(300),
});

/** Keeps the beginning. */
function openOutput() {
  const chunks: Buffer[] = [];
  let size = 0;
  return {
    take: (chunk: Buffer) => {
      if (size < OUTPUT_BYTES) chunks.push(chunk.subarray(0, OUTPUT_BYTES - size));
      size += chunk.length;
    },
    text: () => Buffer.concat(chunks).toString("utf8"),
  };
}

/** Its whole group ends with it, or when the time is over. */
export function executeBash(
  { command, cwd, timeout }: z.infer<typeof BashCommand>,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Readonly<Record<string, unknown>>> {
  return new Promise((done) => {
    const child = spawn("/bin/bash", ["-c", command], {
      ...(cwd === null || cwd === undefined ? {} : { cwd }),
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
      env: toAgentEnv(env),
    });
    const stdout = openOutput();
    const stderr = openOutput();
    let isLate = false;
    const endGroup = () => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
      } catch {
        // Expected: all of it has ended.
      }
    };
    const timer = setTimeout(() => {
      isLate = true;
      endGroup();
    }, timeout * 1_000);
    child.stdout.on("data", stdout.take);
    child.stderr.on("data", stderr.take);
    const finish = (exitCode: number | null) => {
      clearTimeout(timer);
      const id = randomUUID();
      done({
        kind: "BashOutput",
        id,
        command_id: id,
        command,
        timestamp: new Date().toISOString(),
        order: 0,
        exit_code: isLate ? -1 : exitCode,
        stdout: stdout.text(),
        stderr: stderr.text(),
        timeout_occurred: isLate,
      });
    };
    child.once("exit", endGroup);
    child.once("close", (code) => finish(code ?? -1));
    child.once("error", (error) => {
      stderr.take(Buffer.from(error.message));
      finish(127);
    });
  });
}

function requirePath(url: URL): string {
  const path = url.searchParams.get("path") ?? "";
  if (!isAbsolute(path) || path.includes("\0")) throw new Refusal(422, "path: is the whole path of a file");
  return path;
}

async function readUpload(request: IncomingMessage): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > FILE_BYTES) throw new Refusal(413, `a file has at most ${FILE_BYTES} bytes`);
    chunks.push(chunk);
  }
  const bytes = Buffer.concat(chunks);
  const type = request.headers["content-type"] ?? "";
  if (!type.startsWith("multipart/form-data")) return bytes;
  const form = await new Response(bytes, { headers: { "content-type": type } }).formData().catch(() => undefined);
  const file = form?.get("file");
  if (!(file instanceof Blob)) throw new Refusal(422, "file: is missing");
  return new Uint8Array(await file.arrayBuffer());
}

export async function uploadFile(request: IncomingMessage, url: URL): Promise<Readonly<Record<string, unknown>>> {
  const path = requirePath(url);
  const bytes = await readUpload(request);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, bytes);
  return { success: true, file_size: bytes.byteLength };
}

export async function downloadFile(response: ServerResponse, url: URL): Promise<void> {
  const path = requirePath(url);
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile() !== true) throw new Refusal(404, "there is no such file");
  response.writeHead(200, { "content-type": "application/octet-stream", "content-length": found.size });
  await pipeline(createReadStream(path), response).catch(() => response.destroy());
}
