/** Sessions as files, out of one server and into another; and those that are kept no longer. */
import { z } from "zod";
import { endpoint } from "../endpoint.ts";
import { ArtifactId, ProjectId, SandboxId } from "../ids.ts";
import { Retention, RetentionReport } from "../resources/retention.ts";
import { Sandbox } from "../resources/sandbox.ts";

export const archiveEndpoints = {
  exportArchive: endpoint({
    method: "GET",
    path: "/sandboxes/:sandbox_id/archive",
    access: "person",
    verb: "operate",
    summary: "The session as one file.",
    params: z.object({ sandbox_id: SandboxId }),
  }),
  exportRunFile: endpoint({
    method: "GET",
    path: "/sandboxes/:sandbox_id/run-file",
    access: "person",
    verb: "operate",
    summary: "The run as one HTML file that shows any moment of it without a server.",
    params: z.object({ sandbox_id: SandboxId }),
  }),
  /** Named by its own hash: sent twice it is there once. */
  importArchive: endpoint({
    method: "PUT",
    path: "/archives/:archive_id",
    access: "person",
    verb: "operate",
    summary: "Keep an archive as a run.",
    params: z.object({ archive_id: ArtifactId }),
    query: z.strictObject({ project_id: ProjectId.optional() }),
    reply: Sandbox,
  }),
  applyRetention: endpoint({
    method: "POST",
    path: "/retention",
    access: "person",
    verb: "administer",
    summary: "Remove old sessions.",
    body: Retention.default({ dry_run: false }),
    reply: RetentionReport,
  }),
} as const;
