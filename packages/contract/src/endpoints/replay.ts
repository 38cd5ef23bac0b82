/** Any moment of a run, and links by which others may watch it. */
import { z } from "zod";
import { endpoint } from "../endpoint.ts";
import { SandboxId, ShareId } from "../ids.ts";
import { Moment, MomentQuery, WorkspaceDiff, WorkspaceDiffQuery } from "../resources/moment.ts";
import { CreatedShare, NewShare, Share } from "../resources/share.ts";
import { page, Paging } from "./page.ts";

const sandboxRef = z.object({ sandbox_id: SandboxId });

export const replayEndpoints = {
  getMoment: endpoint({
    method: "GET",
    path: "/sandboxes/:sandbox_id/moment",
    access: "person",
    verb: "read",
    isShared: true,
    summary: "A run as of an event: state, files, messages, verdict and the newest events, in one answer.",
    params: sandboxRef,
    query: MomentQuery,
    reply: Moment,
  }),
  getWorkspaceDiff: endpoint({
    method: "GET",
    path: "/sandboxes/:sandbox_id/diff",
    access: "person",
    verb: "read",
    isShared: true,
    summary: "What changed in the workspace between two places of the log, from its checkpoints.",
    params: sandboxRef,
    query: WorkspaceDiffQuery,
    reply: WorkspaceDiff,
  }),
  listShares: endpoint({
    method: "GET",
    path: "/sandboxes/:sandbox_id/shares",
    access: "person",
    verb: "operate",
    summary: "Links to watch this run, newest first, without their secrets.",
    params: sandboxRef,
    query: z.strictObject(Paging),
    reply: page(Share),
  }),
  createShare: endpoint({
    method: "POST",
    path: "/sandboxes/:sandbox_id/shares",
    access: "person",
    verb: "operate",
    summary: "A link by which anybody may watch this run; its secret is told once.",
    params: sandboxRef,
    body: NewShare.default({ expires_in_s: 604_800 }),
    reply: CreatedShare,
    status: 201,
    creates: true,
  }),
  revokeShare: endpoint({
    method: "DELETE",
    path: "/sandboxes/:sandbox_id/shares/:share_id",
    access: "person",
    verb: "operate",
    summary: "End a link; who watches by it is cut off.",
    params: z.object({ sandbox_id: SandboxId, share_id: ShareId }),
    reply: Share,
  }),
} as const;
