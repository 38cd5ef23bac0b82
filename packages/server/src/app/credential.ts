/** Who is asking: secrets are resolved to principals by hash, and remembered for a moment. */
import { createHash } from "node:crypto";
import type { Grant } from "@drover/core";
import type { ProjectId, SandboxId, ShareId, TokenId } from "@drover/contract";
import type { Clock } from "../ports/clock.ts";
import type { Db } from "../ports/db.ts";
import {
  findSandboxToken,
  findSession,
  findToken,
  listRevokedAmong,
  takeOneTimeSecret,
  touchToken,
  type TokenRow,
} from "../store/credentials.ts";
import { findShare, listEndedShares, touchShare } from "../store/shares.ts";
import type { Tail } from "./tail-events.ts";

export interface Person {
  readonly kind: "person";
  readonly tokenId: TokenId;
  readonly name: string;
  readonly grant: Grant;
  readonly expiresAt: Date | null;
}

export interface WorkerPrincipal {
  readonly kind: "worker";
  readonly sandboxId: SandboxId;
  readonly projectId: ProjectId;
  readonly generation: number;
  readonly scope: "worker" | "gateway" | "git";
}

/** Whoever has a link to watch one run. */
export interface Watcher {
  readonly kind: "watcher";
  readonly shareId: ShareId;
  readonly sandboxId: SandboxId;
  readonly projectId: ProjectId;
  readonly expiresAt: Date;
}

export type Principal = Person | WorkerPrincipal | Watcher;

export const hashSecret = (secret: string): Uint8Array => createHash("sha256").update(secret).digest();

export const toPerson = (row: TokenRow): Person => ({
  kind: "person",
  tokenId: row.id,
  name: row.name,
  grant: { role: row.role, projectId: row.project_id },
  expiresAt: row.expires_at,
});

/** How long a lookup is believed. Revocations are heard through the log at once; this bounds a lost one. */
const REMEMBER_MS = 2_000;
const REMEMBER_COUNT = 5_000;

export interface Credentials {
  /** A bearer token of a person, a program or a worker. */
  resolveBearer(secret: string): Promise<Principal | undefined>;
  resolveSession(secret: string): Promise<Person | undefined>;
  /** Uses the ticket up. */
  takeTicket(secret: string): Promise<Person | undefined>;
  /** Those of the tokens and links that are revoked or have run out. */
  findEnded(ids: readonly string[]): Promise<ReadonlySet<string>>;
  forget(): void;
}

/** A worker's is revoked, and does not run out. */
const toEndMs = (principal: Principal): number =>
  principal.kind === "worker" ? Infinity : (principal.expiresAt?.getTime() ?? Infinity);

export function openCredentials(deps: { db: Db; clock: Clock; tail: Tail }): Credentials {
  const remembered = new Map<string, { readonly principal: Principal; readonly untilMs: number }>();
  let timesForgotten = 0;
  const forget = () => {
    timesForgotten += 1;
    remembered.clear();
  };
  // Whatever ends a credential is an event, of this replica or of another.
  const ENDING: ReadonlySet<string> = new Set([
    "token.revoked",
    "share.revoked",
    "STATE_CHANGED",
    "WORKER_REPLACED",
    "TERMINATED",
  ]);
  deps.tail.onAdvance((events) => {
    if (events.some((event) => ENDING.has(event.storedType))) forget();
  });

  const remember = async (key: string, find: () => Promise<Principal | undefined>): Promise<Principal | undefined> => {
    const nowMs = deps.clock.now().getTime();
    const known = remembered.get(key);
    if (known !== undefined && known.untilMs > nowMs) return known.principal;
    const before = timesForgotten;
    const principal = await find();
    if (principal === undefined) return undefined;
    if (remembered.size >= REMEMBER_COUNT) remembered.clear();
    // What was read before something was revoked may be the very thing that was.
    if (before === timesForgotten)
      remembered.set(key, { principal, untilMs: Math.min(nowMs + REMEMBER_MS, toEndMs(principal)) });
    if (principal.kind === "person") await touchToken(deps.db, principal.tokenId);
    if (principal.kind === "watcher") await touchShare(deps.db, principal.shareId);
    return principal;
  };

  const findBearer = async (secret: string): Promise<Principal | undefined> => {
    const hash = hashSecret(secret);
    const worker = await findSandboxToken.maybe(deps.db, hash);
    if (worker !== undefined) {
      return {
        kind: "worker",
        sandboxId: worker.sandbox_id,
        projectId: worker.project_id,
        generation: worker.generation,
        scope: worker.scope,
      };
    }
    const token = await findToken.maybe(deps.db, hash);
    if (token !== undefined) return toPerson(token);
    const share = await findShare.maybe(deps.db, hash);
    if (share === undefined) return undefined;
    const { id: shareId, sandbox_id: sandboxId, project_id: projectId, expires_at: expiresAt } = share;
    return { kind: "watcher", shareId, sandboxId, projectId, expiresAt };
  };

  return {
    resolveBearer: (secret) => remember(`b ${secret}`, () => findBearer(secret)),
    resolveSession: async (secret) => {
      const found = await remember(`s ${secret}`, async () => {
        const token = await findSession.maybe(deps.db, hashSecret(secret));
        return token === undefined ? undefined : toPerson(token);
      });
      return found?.kind === "person" ? found : undefined;
    },
    takeTicket: async (secret) => {
      const token = await takeOneTimeSecret.maybe(deps.db, hashSecret(secret), "ws");
      return token === undefined ? undefined : toPerson(token);
    },
    findEnded: async (ids) => {
      const [tokens, shares] = await Promise.all([listRevokedAmong(deps.db, ids), listEndedShares(deps.db, ids)]);
      return new Set<string>([...tokens, ...shares].map((row) => row.id));
    },
    forget,
  };
}
