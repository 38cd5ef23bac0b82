/** Ends live connections when the credential they were opened with ends: revoked, run out or logged out, on whichever replica. */
import type { Person, Watcher } from "../app/credential.ts";
import type { Deps } from "../app/deps.ts";

const LOOK_MS = 1_000;
/** Of looks, until the store is asked too; it knows what no event told. */
const ASK_EVERY = 5;

export interface Watched {
  readonly who: Person | Watcher;
  /** Of a browser that came with a cookie. */
  readonly session: string | undefined;
  /** Closes the connection; called at most once. */
  end(): void;
}

export interface CredentialWatch {
  /** Watches until the returned function is called, or the credential has ended. */
  add(member: Watched): () => void;
  close(): void;
}

const idOf = ({ who }: Watched): string => (who.kind === "person" ? who.tokenId : who.shareId);
const ENDING: ReadonlySet<string> = new Set(["token.revoked", "share.revoked"]);

export function openCredentialWatch(deps: Deps): CredentialWatch {
  const members = new Set<Watched>();
  const endThose = (isEnded: (member: Watched) => boolean) => {
    for (const member of [...members].filter(isEnded)) {
      members.delete(member);
      member.end();
    }
  };

  // Revocations come through the log, of whichever replica.
  const stopListening = deps.tail.onAdvance((events) => {
    const revoked = new Set(events.filter((event) => ENDING.has(event.storedType)).map((event) => event.entityId));
    if (revoked.size > 0) endThose((member) => revoked.has(idOf(member)));
  });

  const ask = async () => {
    if (members.size === 0) return;
    const ended = await deps.credentials.findEnded([...new Set([...members].map(idOf))]);
    endThose((member) => ended.has(idOf(member)));
    const gone = new Set<string>();
    for (const session of new Set([...members].flatMap((member) => member.session ?? []))) {
      if ((await deps.credentials.resolveSession(session)) === undefined) gone.add(session);
    }
    endThose((member) => member.session !== undefined && gone.has(member.session));
  };

  let looks = 0;
  const looker = setInterval(() => {
    const now = deps.clock.now();
    endThose(({ who }) => who.expiresAt !== null && who.expiresAt <= now);
    looks += 1;
    if (looks % ASK_EVERY !== 0) return;
    ask().catch((error: unknown) => deps.log.debug("credential.check_failed", { reason: String(error) }));
  }, LOOK_MS);

  return {
    add: (member) => {
      members.add(member);
      return () => members.delete(member);
    },
    close: () => {
      clearInterval(looker);
      stopListening();
    },
  };
}
