/** Tokens of people and programs: made, listed, revoked; and the ways to log in with them. */
import { AppError, TokenId, type CreatedToken, type NewToken, type Token, type Whoami } from "@drover/contract";
import type { Db } from "../ports/db.ts";
import { insertAudit } from "../store/audit.ts";
import {
  deleteSession,
  findOwner,
  findToken,
  insertOneTimeSecret,
  insertSession,
  insertToken,
  listTokens,
  loadToken,
  revokeToken,
  takeOneTimeSecret,
  type TokenRow,
} from "../store/credentials.ts";
import { loadProject } from "../store/projects.ts";
import { createOnce, type RequestKey } from "./create-once.ts";
import { parseCursor } from "./cursor.ts";
import { hashSecret, toPerson, type Person } from "./credential.ts";
import type { Deps } from "./deps.ts";
import { draftEvent, writeWithEvents } from "./event-log.ts";

const TICKET_SECONDS = 30;
const LOGIN_CODE_SECONDS = 3_600;
const OWNER = "owner";

const iso = (date: Date | null) => date?.toISOString() ?? null;

const toToken = (row: TokenRow): Token => ({
  id: row.id,
  name: row.name,
  role: row.role,
  project_id: row.project_id,
  created_at: row.created_at.toISOString(),
  expires_at: iso(row.expires_at),
  last_used_at: iso(row.last_used_at),
  revoked_at: iso(row.revoked_at),
});

export const toWhoami = (person: Person): Whoami => ({
  token_id: person.tokenId,
  name: person.name,
  role: person.grant.role,
  project_id: person.grant.projectId,
});

/** An admin of one project gives roles on that project only. */
export async function createToken(
  deps: Deps,
  actor: Person,
  input: NewToken,
  key: RequestKey | undefined,
): Promise<CreatedToken> {
  const projectId = input.project_id ?? actor.grant.projectId;
  if (actor.grant.projectId !== null && projectId !== actor.grant.projectId) throw new AppError("project.not_found");
  if (projectId !== null && (await loadProject.maybe(deps.db, projectId)) === undefined)
    throw new AppError("project.not_found");
  return createOnce(deps, key, async (tx, append) => {
    const secret = deps.ids.secret("user");
    const row = await insertToken.one(tx, {
      id: deps.ids.token(),
      hash: hashSecret(secret),
      name: input.name,
      role: input.role,
      project_id: projectId,
      expires_at: input.expires_at ?? null,
    });
    await insertAudit(tx, {
      actor: actor.tokenId,
      action: "token.create",
      target: row.id,
      project_id: projectId,
      detail: { name: row.name, role: row.role },
      request_id: null,
    });
    await append([
      draftEvent(
        deps.ids,
        { type: "token", id: row.id, projectId },
        { eventType: "token.created", data: { name: row.name, role: row.role }, source: "user" },
      ),
    ]);
    return { ...toToken(row), token: secret };
  });
}

export async function pageTokens(deps: Deps, actor: Person, query: { limit: number; cursor?: string | undefined }) {
  const rows = await listTokens(deps.db, actor.grant.projectId, parseCursor(TokenId, query.cursor), query.limit + 1);
  const items = rows.slice(0, query.limit);
  return { items: items.map(toToken), next_cursor: rows.length > query.limit ? (items.at(-1)?.id ?? null) : null };
}

export async function endToken(deps: Deps, actor: Person, id: TokenId): Promise<Token> {
  const found = await loadToken.maybe(deps.db, id);
  const isHidden = actor.grant.projectId !== null && found?.project_id !== actor.grant.projectId;
  if (found === undefined || isHidden) throw new AppError("token.not_found");
  if (found.revoked_at !== null) return toToken(found);
  const token = await writeWithEvents(deps, async (tx, append) => {
    const row = await revokeToken.one(tx, id);
    await insertAudit(tx, {
      actor: actor.tokenId,
      action: "token.revoke",
      target: id,
      project_id: row.project_id,
      detail: {},
      request_id: null,
    });
    await append([
      draftEvent(
        deps.ids,
        { type: "token", id, projectId: row.project_id },
        { eventType: "token.revoked", data: { name: row.name }, source: "user" },
      ),
    ]);
    return toToken(row);
  });
  deps.credentials.forget();
  return token;
}

/** A token or a one-time code becomes a session; the code is used up. */
export async function login(deps: Deps, secret: string): Promise<{ person: Person; session: string }> {
  const hash = hashSecret(secret);
  const token = (await findToken.maybe(deps.db, hash)) ?? (await takeOneTimeSecret.maybe(deps.db, hash, "login"));
  if (token === undefined)
    throw new AppError(
      "auth.required",
      "this token or login link is not valid (a link works once; start the server again for a new one)",
    );
  const session = deps.ids.secret("session");
  await insertSession(deps.db, hashSecret(session), token.id, deps.config.sessionDays);
  return { person: toPerson(token), session };
}

export async function logout(deps: Deps, session: string | undefined): Promise<void> {
  if (session === undefined) return;
  await deleteSession(deps.db, hashSecret(session));
  deps.credentials.forget();
}

export async function createTicket(
  deps: Deps,
  actor: Person,
  key: RequestKey | undefined,
): Promise<{ ticket: string; expires_at: string }> {
  return createOnce(deps, key, async (tx) => {
    const ticket = deps.ids.secret("ticket");
    await insertOneTimeSecret(tx, hashSecret(ticket), "ws", actor.tokenId, TICKET_SECONDS);
    return { ticket, expires_at: new Date(deps.clock.now().getTime() + TICKET_SECONDS * 1_000).toISOString() };
  });
}

export async function createLoginCode(deps: Deps, tokenId: TokenId): Promise<string> {
  const code = deps.ids.secret("login");
  await insertOneTimeSecret(deps.db, hashSecret(code), "login", tokenId, LOGIN_CODE_SECONDS);
  return code;
}

/** The given secret is an admin's token after this, unless somebody revoked it: then it stays revoked, and undefined is returned. */
export async function ensureAdmin(
  deps: Pick<Deps, "ids"> & { db: Db },
  name: string,
  secret: string,
): Promise<TokenId | undefined> {
  const hash = hashSecret(secret);
  const draft = { id: deps.ids.token(), hash, name, role: "admin" as const, project_id: null, expires_at: null };
  const row = (await insertToken.maybe(deps.db, draft)) ?? (await findToken.maybe(deps.db, hash));
  return row?.id;
}

/** The credential behind login links: nobody knows its secret, and sessions live as long as it is not revoked. */
export async function ensureOwner(deps: Pick<Deps, "ids" | "db">): Promise<TokenId> {
  const [known] = await findOwner(deps.db);
  const id = known?.id ?? (await ensureAdmin(deps, OWNER, deps.ids.secret("user")));
  if (id === undefined) throw new Error("a new secret was revoked before it was used");
  return id;
}
