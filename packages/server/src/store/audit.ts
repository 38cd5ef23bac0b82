/** Who did what. Written in the transaction of the deed. */
import { command } from "./query.ts";
import { json, sql } from "./sql.ts";

export interface AuditEntry {
  readonly actor: string;
  readonly action: string;
  readonly target: string | null;
  readonly project_id: string | null;
  readonly detail: Readonly<Record<string, unknown>>;
  readonly request_id: string | null;
}

export const insertAudit = command(
  "audit.insert",
  [{ actor: "a", action: "b", target: null, project_id: null, detail: {}, request_id: null }],
  (entry: AuditEntry) => sql`
  insert into audit (actor, action, target, project_id, detail, request_id)
  values (${entry.actor}, ${entry.action}, ${entry.target}, ${entry.project_id}, ${json(entry.detail)}::jsonb, ${entry.request_id})`,
);
