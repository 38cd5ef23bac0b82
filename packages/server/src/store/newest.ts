/** Rows of a table that grows, newest first, page by page: of one project or of all, of one sandbox or of any. */
import type { SandboxId } from "@drover/contract";
import type { Statement } from "../ports/db.ts";
import { empty, sql } from "./sql.ts";

export interface NewestFilter {
  /** Null: of all. */
  readonly projectId: string | null;
  readonly sandboxId?: SandboxId | undefined;
  /** The position of the last row that is known. */
  readonly before: number | undefined;
  readonly limit: number;
}

export const NEWEST_SAMPLE: NewestFilter = { projectId: null, sandboxId: undefined, before: undefined, limit: 10 };

/** What follows `from`; `more` begins with `and`. */
export const newest = (by: NewestFilter, more: Statement = empty): Statement => sql`
  where true ${by.projectId === null ? empty : sql`and project_id = ${by.projectId}`}
    ${by.sandboxId === undefined ? empty : sql`and sandbox_id = ${by.sandboxId}`}
    ${more} ${by.before === undefined ? empty : sql`and position < ${by.before}`}
  order by position desc limit ${by.limit}`;
