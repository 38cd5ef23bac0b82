/** Which use case answers which endpoint of archives. */
import { Readable } from "node:stream";
import type { archiveEndpoints } from "@drover/contract";
import { applyRetention } from "../app/apply-retention.ts";
import { exportRunFile } from "../app/archive/export-run-file.ts";
import { exportSession } from "../app/archive/export-session.ts";
import { importSession } from "../app/archive/import-session.ts";
import { pickProject } from "../app/manage-projects.ts";
import { person, type Handlers } from "./context.ts";

export const archiveHandlers: Pick<Handlers, keyof typeof archiveEndpoints> = {
  applyRetention: (context, { body }) => applyRetention(context.deps, person(context), body.dry_run, context.signal),
  exportArchive: async (context, { params }) => {
    const { deps, reply, signal } = context;
    const { name, chunks } = await exportSession(deps, person(context), params.sandbox_id, signal);
    void reply
      .type("application/x-tar")
      .header("content-disposition", `attachment; filename="${name}"`)
      .header("cache-control", "no-store");
    return Readable.from(chunks);
  },
  exportRunFile: async (context, { params }) => {
    const { deps, reply, signal } = context;
    const { name, chunks } = await exportRunFile(deps, person(context), params.sandbox_id, signal);
    // To be kept, never to be shown from here: what it holds came from a sandbox.
    void reply
      .type("text/html; charset=utf-8")
      .header("content-disposition", `attachment; filename="${name}"`)
      .header("cache-control", "no-store");
    return Readable.from(chunks);
  },
  importArchive: async (context, { params, query }) => {
    const { deps, request } = context;
    const actor = person(context);
    const projectId = await pickProject(deps, actor, query.project_id);
    // Whatever was refused half-way is read to its end and thrown away, else the caller never comes to read our answer.
    const given = { projectId, seal: params.archive_id, bytes: request.raw as AsyncIterable<Uint8Array> };
    return importSession(deps, actor, given).finally(() => request.raw.resume());
  },
};
