/** Which sandbox put which artifact; the bytes are in the blob store. */
import type { ArtifactId, SandboxId } from "@drover/contract";
import { z } from "zod";
import { command, query } from "./query.ts";
import { sql } from "./sql.ts";

const SAMPLE_SANDBOX = "drover-00000000-000000" as SandboxId;
const SAMPLE_ID = "0".repeat(64) as ArtifactId;

export const insertArtifact = command(
  "artifacts.insert",
  [SAMPLE_SANDBOX, SAMPLE_ID, 1],
  (sandboxId: SandboxId, id: ArtifactId, size: number) => sql`
  insert into artifacts (sandbox_id, id, size) select id, ${id}, ${size} from sandboxes where id = ${sandboxId} on conflict do nothing`,
);

export const loadArtifact = query(
  "artifacts.load",
  z.object({ size: z.number() }),
  [SAMPLE_SANDBOX, SAMPLE_ID],
  (sandboxId: SandboxId, id: ArtifactId) =>
    sql`select size from artifacts where sandbox_id = ${sandboxId} and id = ${id}`,
);

/** What a sandbox has put, but for one: that it may put again. */
export const sumOtherArtifacts = query(
  "artifacts.sum_others",
  z.object({ bytes: z.number() }),
  [SAMPLE_SANDBOX, SAMPLE_ID],
  (sandboxId: SandboxId, id: ArtifactId) =>
    sql`select coalesce(sum(size), 0)::bigint as bytes from artifacts where sandbox_id = ${sandboxId} and id <> ${id}`,
);

/** Those of the named ones that this sandbox put. */
export const listArtifacts = query(
  "artifacts.list_named",
  z.object({ id: z.string() }),
  [SAMPLE_SANDBOX, [SAMPLE_ID]],
  (sandboxId: SandboxId, ids: readonly ArtifactId[]) =>
    sql`select id from artifacts where sandbox_id = ${sandboxId} and id = any(${ids}::text[]) limit 100000`,
);
