/** Finds tickets by their words, and keeps the vectors by which they are found alike. */
import { VECTOR_CHARACTERS } from "@drover/core";
import { TicketId } from "@drover/contract";
import { z } from "zod";
import type { Statement } from "../ports/db.ts";
import { command, query } from "./query.ts";
import { empty, sql } from "./sql.ts";

export interface SearchScope {
  readonly projectId: string | null;
  readonly statuses: readonly string[] | undefined;
}

const SAMPLE_SCOPE: SearchScope = { projectId: "a", statuses: ["backlog"] };

const inScope = ({ projectId, statuses }: SearchScope): Statement => sql`
  true ${projectId === null ? empty : sql`and t.project_id = ${projectId}`}
  ${statuses === undefined ? empty : sql`and t.status = any(${statuses}::text[])`}`;

/** As web searches are written: quotes, `or` and `-` mean what they do there. The best first. */
export const findByWords = query(
  "tickets.find_by_words",
  z.object({ id: TicketId }),
  [SAMPLE_SCOPE, "a", 10],
  (scope: SearchScope, text: string, limit: number) => sql`
  select t.id from tickets t, websearch_to_tsquery('simple', ${text}) wanted
  where ${inScope(scope)} and t.words @@ wanted
  order by ts_rank_cd(t.words, wanted) desc, t.created_at desc, t.id limit ${limit}`,
);

const textHash = sql`md5(concat_ws(E'\\n', t.title, t.description))`;

/** Tickets without a vector of what they say now, with as much of it as a vector looks at. */
export const listUnmeasured = query(
  "ticket_vectors.missing",
  z.object({ id: TicketId, title: z.string(), opening: z.string(), text_hash: z.string() }),
  [SAMPLE_SCOPE, 10],
  (scope: SearchScope, limit: number) => sql`
  select t.id, t.title, left(coalesce(t.description, ''), ${VECTOR_CHARACTERS}) as opening, ${textHash} as text_hash
  from tickets t left join ticket_vectors v on v.ticket_id = t.id
  where ${inScope(scope)} and v.text_hash is distinct from ${textHash} order by t.created_at desc, t.id limit ${limit}`,
);

export interface TicketVector {
  readonly id: TicketId;
  readonly text_hash: string;
  readonly vector: Uint8Array;
}

const SAMPLE_VECTOR = {
  id: "00000000-0000-4000-8000-000000000000" as TicketId,
  text_hash: "a",
  vector: new Uint8Array(1),
};

/** Ordered, so that two that measure the same tickets never wait for each other in a circle. */
export const keepVectors = command("ticket_vectors.keep", [[SAMPLE_VECTOR]], (made: readonly TicketVector[]) => {
  const [ids, hashes, vectors] = [
    made.map((one) => one.id),
    made.map((one) => one.text_hash),
    made.map((one) => one.vector),
  ];
  return sql`
  insert into ticket_vectors (ticket_id, text_hash, vector)
  select * from unnest(${ids}::text[], ${hashes}::text[], ${vectors}::bytea[]) as made (ticket_id, text_hash, vector)
  order by ticket_id
  on conflict (ticket_id) do update set text_hash = excluded.text_hash, vector = excluded.vector`;
});

/** The newest of the scope. */
export const listVectors = query(
  "ticket_vectors.list",
  z.object({ id: TicketId, vector: z.instanceof(Uint8Array) }),
  [SAMPLE_SCOPE, 10],
  (scope: SearchScope, limit: number) => sql`
  select t.id, v.vector from tickets t join ticket_vectors v on v.ticket_id = t.id
  where ${inScope(scope)} order by t.created_at desc, t.id limit ${limit}`,
  { trusted: true },
);
