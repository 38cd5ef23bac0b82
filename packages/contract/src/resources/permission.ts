/** A permission request: something an agent may do only when it is allowed to, or a question it asks. */
import { z } from "zod";
import { SandboxId } from "../ids.ts";
import { JsonObject } from "../json.ts";
import { Timestamp } from "../time.ts";

/** Chosen by the agent's program, so of any shape; it stands in a path. */
export const PermissionRequestId = z.string().regex(/^[A-Za-z0-9_.:-]{1,200}$/);

export const PermissionOption = z.object({
  id: z.string().min(1).max(200),
  name: z.string().max(500),
  kind: z.enum(["allow_once", "allow_always", "reject_once", "reject_always"]),
});
export type PermissionOption = z.infer<typeof PermissionOption>;

/** What a worker says in `agent.permission_requested`. */
export const PermissionRequested = z.looseObject({
  turn: z.int().nonnegative().max(2_147_483_647).catch(0),
  request_id: PermissionRequestId,
  kind: z.enum(["tool", "question"]).catch("tool"),
  tool_use_id: z.string().max(200).nullish(),
  tool: z.string().max(200).catch(""),
  input: JsonObject.catch({}),
  options: z.array(PermissionOption).max(100).catch([]),
  deadline_at: Timestamp.nullish().catch(null),
});
export type PermissionRequested = z.infer<typeof PermissionRequested>;

const Decision = z.enum(["allow", "deny"]);

/** What a worker says in `agent.permission_answered`. */
export const PermissionAnswered = z.looseObject({
  request_id: PermissionRequestId,
  decision: Decision,
  option_id: z.string().max(200).nullish(),
  text: z.string().max(10_000).nullish(),
  by: z.enum(["policy", "person", "deadline"]).catch("policy"),
  note: z.string().max(2_000).nullish(),
});
export type PermissionAnswered = z.infer<typeof PermissionAnswered>;

/** What a person says. A question is answered by its text. */
export const PermissionAnswer = z.strictObject({
  decision: Decision,
  option_id: z.string().min(1).max(200).optional(),
  text: z.string().max(8_000).optional(),
  note: z.string().max(2_000).optional(),
});
export type PermissionAnswer = z.infer<typeof PermissionAnswer>;

/** The content of a message of type `permission_answer`, as JSON. */
export const PermissionMessage = PermissionAnswer.extend({ request_id: PermissionRequestId });
export type PermissionMessage = z.infer<typeof PermissionMessage>;

/** `closed`: the sandbox ended, or another worker took over, before anybody answered. */
export const PermissionState = z.enum(["open", "answered", "closed"]);
export type PermissionState = z.infer<typeof PermissionState>;

export const Permission = z.object({
  sandbox_id: SandboxId,
  request_id: PermissionRequestId,
  kind: z.enum(["tool", "question"]),
  turn: z.int().nonnegative(),
  tool_use_id: z.string().nullable(),
  tool: z.string(),
  input: JsonObject,
  options: z.array(PermissionOption),
  state: PermissionState,
  decision: Decision.nullable(),
  option_id: z.string().nullable(),
  text: z.string().nullable(),
  note: z.string().nullable(),
  by: z.enum(["policy", "person", "deadline"]).nullable(),
  requested_at: Timestamp,
  deadline_at: Timestamp.nullable(),
  answered_at: Timestamp.nullable(),
});
export type Permission = z.infer<typeof Permission>;
