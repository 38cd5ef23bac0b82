/** Inside a sandbox: commands, files, the worker's log, terminals. The terminal itself is a socket, `/sandboxes/{id}/pty`. */
import { z } from "zod";
import { endpoint } from "../endpoint.ts";
import { SandboxId } from "../ids.ts";
import {
  ExecResult,
  FileList,
  FileQuery,
  FilesQuery,
  LogsQuery,
  NewExec,
  Recording,
  WorkerLog,
} from "../resources/inside.ts";
import { NewPreview, Preview } from "../resources/preview.ts";
import { page, Paging } from "./page.ts";

const sandboxRef = z.object({ sandbox_id: SandboxId });

export const insideEndpoints = {
  execCommand: endpoint({
    method: "POST",
    path: "/sandboxes/:sandbox_id/exec",
    access: "person",
    verb: "operate",
    summary: "Run a command in a sandbox and wait for its end; hanging up kills it.",
    params: sandboxRef,
    body: NewExec,
    reply: ExecResult,
  }),
  openPreview: endpoint({
    method: "POST",
    path: "/sandboxes/:sandbox_id/preview",
    access: "person",
    verb: "operate",
    summary: "A link that opens a port of a sandbox in a browser, once, at an origin of its own.",
    params: sandboxRef,
    body: NewPreview.default({ port: 3_000 }),
    reply: Preview,
  }),
  listFiles: endpoint({
    method: "GET",
    path: "/sandboxes/:sandbox_id/files",
    access: "person",
    verb: "read",
    isShared: true,
    summary: "What lies in a directory of a sandbox.",
    params: sandboxRef,
    query: FilesQuery,
    reply: FileList,
  }),
  readFile: endpoint({
    method: "GET",
    path: "/sandboxes/:sandbox_id/files/content",
    access: "person",
    verb: "read",
    isShared: true,
    summary: "The bytes of a file of a sandbox, as an attachment.",
    params: sandboxRef,
    query: FileQuery,
  }),
  readLogs: endpoint({
    method: "GET",
    path: "/sandboxes/:sandbox_id/logs",
    access: "person",
    verb: "read",
    summary: "The worker's own log.",
    params: sandboxRef,
    query: LogsQuery,
    reply: WorkerLog,
  }),
  listRecordings: endpoint({
    method: "GET",
    path: "/sandboxes/:sandbox_id/terminal",
    access: "person",
    verb: "read",
    isShared: true,
    summary: "Recordings of terminals, newest first; each is an artifact in asciicast v2.",
    params: sandboxRef,
    query: z.strictObject(Paging),
    reply: page(Recording),
  }),
} as const;
