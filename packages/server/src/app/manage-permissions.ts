/** Permission requests and questions of agents: listed, and answered by people through the message queue. */
import {
  AppError,
  TERMINAL_SANDBOX_STATES,
  type Permission,
  type PermissionAnswer,
  type PermissionMessage,
  type PermissionState,
  type SandboxId,
} from "@drover/contract";
import { insertAudit } from "../store/audit.ts";
import { insertMessage } from "../store/messages.ts";
import { answerPermission, listPermissions, loadPermission, type PermissionRow } from "../store/permissions.ts";
import { lockSandboxes } from "../store/sandboxes.ts";
import { createOnce, type RequestKey } from "./create-once.ts";
import type { Person } from "./credential.ts";
import { parsePosition, toPage } from "./cursor.ts";
import type { Deps } from "./deps.ts";
import { draftSandboxEvent } from "./event-log.ts";

const toPermission = (row: PermissionRow): Permission => ({
  sandbox_id: row.sandbox_id,
  request_id: row.request_id,
  kind: row.kind,
  turn: row.turn,
  tool_use_id: row.tool_use_id,
  tool: row.tool,
  input: row.input,
  options: row.options,
  state: row.state,
  decision: row.decision,
  option_id: row.option_id,
  text: row.answer,
  note: row.note,
  by: row.decided_by,
  requested_at: row.requested_at.toISOString(),
  deadline_at: row.deadline_at?.toISOString() ?? null,
  answered_at: row.answered_at?.toISOString() ?? null,
});

export async function pagePermissions(
  deps: Deps,
  sandboxId: SandboxId,
  query: { limit: number; cursor?: string | undefined; state?: PermissionState | undefined },
) {
  const after = parsePosition(query.cursor);
  const rows = await listPermissions(deps.db, sandboxId, query.state, after, query.limit + 1);
  return toPage(rows, query.limit, toPermission);
}

const isSame = (row: PermissionRow, answer: PermissionAnswer): boolean =>
  row.decided_by === "person" &&
  row.decision === answer.decision &&
  row.option_id === (answer.option_id ?? null) &&
  row.answer === (answer.text ?? null);

function requireFitting(row: PermissionRow, answer: PermissionAnswer): void {
  if (answer.option_id === undefined) return;
  const option = row.options.find(({ id }) => id === answer.option_id);
  const isFitting = option !== undefined && option.kind.startsWith("allow") === (answer.decision === "allow");
  if (isFitting) return;
  const message = option === undefined ? "is not one of the request's options" : "does not go with the decision";
  throw new AppError("request.invalid", `option_id ${message}`, { fields: [{ path: "option_id", message }] });
}

/** The same answer again changes nothing and is no error. */
export async function answerRequest(
  deps: Deps,
  actor: Person,
  { sandbox_id: sandboxId, request_id: requestId }: { sandbox_id: SandboxId; request_id: string },
  answer: PermissionAnswer,
  key: RequestKey | undefined,
): Promise<Permission> {
  return createOnce(deps, key, async (tx, append): Promise<Permission> => {
    const [sandbox] = await lockSandboxes(tx, [sandboxId]);
    if (sandbox === undefined) throw new AppError("sandbox.not_found");
    const row = await loadPermission.maybe(tx, sandboxId, requestId);
    if (row === undefined) throw new AppError("permission.not_found");
    if (isSame(row, answer)) return toPermission(row);
    if (sandbox.closed_at !== null || TERMINAL_SANDBOX_STATES.has(sandbox.state))
      throw new AppError("sandbox.terminal", `the sandbox is ${sandbox.state}; nobody waits for the answer`);
    if (row.state !== "open")
      throw new AppError(
        "permission.answered",
        row.state === "closed"
          ? "nobody waits for the answer any more"
          : `answered: ${row.decision} by ${row.decided_by}`,
      );
    requireFitting(row, answer);
    const content: PermissionMessage = { request_id: requestId, ...answer };
    const messageId = deps.ids.message();
    await answerPermission(tx, sandboxId, requestId, answer, actor.tokenId);
    await insertMessage(tx, {
      id: messageId,
      sandbox_id: sandboxId,
      content: JSON.stringify(content),
      message_type: "permission_answer",
      delivery: "steer",
      is_urgent: false,
      sender: actor.tokenId,
    });
    await insertAudit(tx, {
      actor: actor.tokenId,
      action: "permission.answer",
      target: sandboxId,
      project_id: sandbox.project_id,
      detail: { request_id: requestId, decision: answer.decision },
      request_id: null,
    });
    const queued = draftSandboxEvent(deps.ids, sandbox, {
      eventType: "PERMISSION_ANSWER_QUEUED",
      data: JSON.parse(JSON.stringify({ ...content, message_id: messageId })),
      source: "user",
    });
    const answered = await loadPermission.one(tx, sandboxId, requestId);
    await append([queued]);
    return toPermission(answered);
  });
}
