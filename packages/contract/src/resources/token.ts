/** Credentials of people and programs. The secret is shown once; the store keeps its hash. */
import { z } from "zod";
import { ProjectId, TokenId } from "../ids.ts";
import { Timestamp } from "../time.ts";

export const Role = z.enum(["viewer", "operator", "admin"]);
export type Role = z.infer<typeof Role>;

export const Verb = z.enum(["read", "operate", "administer"]);
export type Verb = z.infer<typeof Verb>;

/** What each role may do, on its project or on all. */
export const VERBS_OF_ROLE: Readonly<Record<Role, readonly Verb[]>> = {
  viewer: ["read"],
  operator: ["read", "operate"],
  admin: ["read", "operate", "administer"],
};

export const NewToken = z.strictObject({
  name: z.string().trim().min(1).max(100),
  role: Role,
  project_id: ProjectId.optional(),
  expires_at: Timestamp.refine((time) => Date.parse(time) > 0, "must be after 1970").optional(),
});
export type NewToken = z.infer<typeof NewToken>;

export const Token = z.object({
  id: TokenId,
  name: z.string(),
  role: Role,
  project_id: ProjectId.nullable(),
  created_at: Timestamp,
  expires_at: Timestamp.nullable(),
  last_used_at: Timestamp.nullable(),
  revoked_at: Timestamp.nullable(),
});
export type Token = z.infer<typeof Token>;

export const CreatedToken = Token.extend({ token: z.string() });
export type CreatedToken = z.infer<typeof CreatedToken>;

/** Who is asking, as the server sees it. */
export const Whoami = z.object({
  token_id: TokenId,
  name: z.string(),
  role: Role,
  project_id: ProjectId.nullable(),
});
export type Whoami = z.infer<typeof Whoami>;
