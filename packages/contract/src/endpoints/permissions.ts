/** What agents ask before they act, and what people answer. */
import { z } from "zod";
import { endpoint } from "../endpoint.ts";
import { SandboxId } from "../ids.ts";
import { Permission, PermissionAnswer, PermissionRequestId, PermissionState } from "../resources/permission.ts";
import { page, Paging } from "./page.ts";

export const permissionEndpoints = {
  listPermissions: endpoint({
    method: "GET",
    path: "/sandboxes/:sandbox_id/permissions",
    access: "person",
    verb: "read",
    summary: "Permission requests and questions of the agent, oldest first.",
    params: z.object({ sandbox_id: SandboxId }),
    query: z.strictObject({ ...Paging, state: PermissionState.optional() }),
    reply: page(Permission),
  }),
  answerPermission: endpoint({
    method: "POST",
    path: "/sandboxes/:sandbox_id/permissions/:request_id",
    access: "person",
    verb: "operate",
    summary: "Allow or refuse what the agent asked for, or answer its question.",
    params: z.object({ sandbox_id: SandboxId, request_id: PermissionRequestId }),
    body: PermissionAnswer,
    reply: Permission,
    creates: true,
  }),
} as const;
