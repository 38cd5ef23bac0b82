/** Finds tickets by what they say: by their words, by likeness, or by both. */
import { fuseRanks, toLexicalVector, toLikeness } from "@drover/core";
import type { FoundTickets, TicketId, TicketSearch } from "@drover/contract";
import { findByWords, keepVectors, listUnmeasured, listVectors, type SearchScope } from "../store/ticket-search.ts";
import { loadTicket } from "../store/tickets.ts";
import type { Person } from "./credential.ts";
import type { Deps } from "./deps.ts";
import { pickProject } from "./manage-projects.ts";
import { toTicket } from "./manage-tickets.ts";

/** Of each list; what stands further down brings nothing to the top of both. */
const LONGEST = 200;
/** The newest of so many tickets are compared; a vector has 512 bytes. */
const COMPARED = 20_000;
const BATCH = 200;
const LOOK = 2_000;
/** Below this two texts share no more than chance. */
const LEAST_LIKENESS = 0.18;

/** Vectors are made when they are first needed, in steps, so that others are answered meanwhile; each look reads the whole scope, so that
 *  one serves many steps. */
async function ensureVectors(deps: Deps, scope: SearchScope): Promise<void> {
  for (let looked = 0; looked < COMPARED; looked += LOOK) {
    const missing = await listUnmeasured(deps.db, scope, LOOK);
    for (let at = 0; at < missing.length; at += BATCH) {
      const made = missing.slice(at, at + BATCH).map(({ id, title, opening, text_hash }) => ({
        id,
        text_hash,
        vector: new Uint8Array(toLexicalVector(title, opening).buffer),
      }));
      await keepVectors(deps.db, made);
    }
    if (missing.length < LOOK) return;
  }
}

async function findAlike(deps: Deps, scope: SearchScope, text: string): Promise<readonly TicketId[]> {
  await ensureVectors(deps, scope);
  const wanted = toLexicalVector(text, "");
  return (await listVectors(deps.db, scope, COMPARED))
    .map(({ id, vector }) => ({ id, likeness: toLikeness(wanted, Int8Array.from(vector)) }))
    .filter(({ likeness }) => likeness >= LEAST_LIKENESS)
    .toSorted((a, b) => b.likeness - a.likeness || (a.id < b.id ? -1 : 1))
    .slice(0, LONGEST)
    .map(({ id }) => id);
}

export async function searchTickets(deps: Deps, actor: Person, input: TicketSearch): Promise<FoundTickets> {
  // A token of all projects that names none searches all of them.
  const asked = input.project_id ?? actor.grant.projectId;
  const scope = { projectId: asked === null ? null : await pickProject(deps, actor, asked), statuses: input.status };
  const byWords =
    input.search_type === "semantic"
      ? []
      : (await findByWords(deps.db, scope, input.query, LONGEST)).map(({ id }) => id);
  const alike = input.search_type === "keyword" ? [] : await findAlike(deps, scope, input.query);
  const best = fuseRanks([byWords, alike]).slice(0, input.limit);
  const items = await Promise.all(
    best.map(async ({ id, score, ranks: [keyword_rank = null, semantic_rank = null] }) => ({
      ticket: toTicket(await loadTicket.one(deps.db, id)),
      score,
      keyword_rank,
      semantic_rank,
    })),
  );
  return { search_type: input.search_type, vectors: "local-lexical", items };
}
