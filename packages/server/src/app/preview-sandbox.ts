/** Previews: who may see a port of a sandbox in a browser, by a ticket that works once and a cookie of that origin alone. */
import { AppError, SandboxId, type NewPreview, type Preview, type TokenId } from "@drover/contract";
import type { Duplex } from "node:stream";
import { z } from "zod";
import { insertOneTimeSecret } from "../store/credentials.ts";
import { loadSandbox } from "../store/sandboxes.ts";
import { hashSecret, type Person } from "./credential.ts";
import type { Deps } from "./deps.ts";
import { draftEvent, writeWithEvents } from "./event-log.ts";
import { loadRunning } from "./load-standing.ts";

export const OPEN_PATH = "/.drover-preview";
const TICKET_SECONDS = 60;
const COOKIE_SECONDS = 12 * 60 * 60;
/** How long it is believed that a token is still good. */
const REMEMBER_MS = 2_000;
const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

const Ticket = z.strictObject({ kind: z.literal("ticket"), id: SandboxId, port: z.int(), secret: z.string() });
const Pass = z.strictObject({
  kind: z.literal("pass"),
  id: SandboxId,
  port: z.int(),
  tokenId: z.string(),
  untilMs: z.number(),
});

export interface PreviewTarget {
  readonly id: SandboxId;
  readonly port: number;
}

const LABEL = /^p([1-9]\d{0,4})-(.+)$/;

/** Undefined: this host is none of a preview. Null: it is, and names nothing. */
export function parsePreviewHost(previewHost: string, host: string | undefined): PreviewTarget | null | undefined {
  const name = host?.toLowerCase().replace(/:\d+$/, "");
  if (name === undefined || !name.endsWith(`.${previewHost}`)) return undefined;
  const [, port, id] = LABEL.exec(name.slice(0, -previewHost.length - 1)) ?? [];
  const parsed = SandboxId.safeParse(id);
  return parsed.success && Number(port) < 65_536 ? { id: parsed.data, port: Number(port) } : null;
}

/** Where a preview is seen: the server's own address, with another name. */
function toPreviewOrigin(deps: Deps, { id, port }: PreviewTarget): string {
  const address = new URL(deps.address());
  const { previewHost } = deps.config;
  if (!LOOPBACK.has(address.hostname) && previewHost.endsWith("localhost"))
    throw new AppError(
      "sandbox.rejected",
      "previews need names of their own: set DROVER_PREVIEW_HOST to a name whose sub-names all lead to this server",
    );
  address.hostname = `p${port}-${id}.${previewHost}`;
  return address.origin;
}

const seal = (deps: Deps, value: unknown) => Buffer.from(deps.vault.seal(JSON.stringify(value))).toString("base64url");

function unseal<T extends z.ZodType>(deps: Deps, schema: T, text: string): z.infer<T> | undefined {
  try {
    return schema.parse(JSON.parse(deps.vault.open(Buffer.from(text, "base64url"))));
  } catch {
    // Expected: somebody made it up, or it is of another kind.
    return undefined;
  }
}

export async function connectPreview(deps: Deps, { id, port }: PreviewTarget, signal: AbortSignal): Promise<Duplex> {
  const { provider, ref } = await loadRunning(deps, id);
  if (provider.connect === undefined)
    throw new AppError("sandbox.rejected", `provider ${provider.name} has no way to a port of a sandbox`);
  return provider.connect(ref, port, signal);
}

/** Without the ticket: whoever reads the log opens nothing by it. */
async function tellReady(deps: Deps, { id, port }: PreviewTarget, origin: string): Promise<void> {
  const row = await loadSandbox.one(deps.db, id);
  const entity = { type: "preview", id, projectId: row.project_id };
  const data = { sandbox_id: id, task_id: row.task_id, project_id: row.project_id, port, preview_url: origin };
  await writeWithEvents(deps, (_tx, append) =>
    append([draftEvent(deps.ids, entity, { eventType: "PREVIEW_READY", data, source: "user" })]),
  );
}

export async function createPreview(
  deps: Deps,
  actor: Person,
  id: SandboxId,
  { port }: NewPreview,
  signal: AbortSignal,
): Promise<Preview> {
  const target = { id, port };
  const origin = toPreviewOrigin(deps, target);
  const isAnswering = await connectPreview(deps, target, signal).then(
    (connection) => (connection.destroy(), true),
    (error: unknown) => {
      // Expected: nothing listens there yet. That there is no way to any port is the caller's to know.
      if (error instanceof AppError && error.code === "port.not_answering") return false;
      throw error;
    },
  );
  if (isAnswering) await tellReady(deps, target, origin);
  // Known to nobody outside of the seal: a ticket for one preview opens nothing else.
  const secret = deps.ids.secret("ticket");
  await insertOneTimeSecret(deps.db, hashSecret(secret), "ws", actor.tokenId, TICKET_SECONDS);
  const ticket = seal(deps, { kind: "ticket", ...target, secret } satisfies z.infer<typeof Ticket>);
  return {
    url: `${origin}${OPEN_PATH}?ticket=${ticket}`,
    origin,
    port,
    is_answering: isAnswering,
    expires_at: new Date(deps.clock.now().getTime() + TICKET_SECONDS * 1_000).toISOString(),
  };
}

export interface Previews {
  /** What the cookie of this origin is to be; undefined for a ticket that is used up, or of another preview. */
  redeem(
    target: PreviewTarget,
    ticket: string,
  ): Promise<{ readonly pass: string; readonly seconds: number } | undefined>;
  /** The token in whose name one of these cookies lets in; undefined for none. */
  findToken(target: PreviewTarget, passes: readonly string[]): Promise<TokenId | undefined>;
  isGood(tokenId: TokenId): Promise<boolean>;
}

export function openPreviews(deps: Deps): Previews {
  const known = new Map<string, { readonly isGood: Promise<boolean>; readonly untilMs: number }>();
  const isGood = (tokenId: TokenId): Promise<boolean> => {
    const nowMs = deps.clock.now().getTime();
    const remembered = known.get(tokenId);
    if (remembered !== undefined && remembered.untilMs > nowMs) return remembered.isGood;
    const looked = deps.credentials.findEnded([tokenId]).then((ended) => !ended.has(tokenId));
    if (known.size > 1_000) known.clear();
    known.set(tokenId, { isGood: looked, untilMs: nowMs + REMEMBER_MS });
    return looked;
  };
  return {
    isGood,
    redeem: async ({ id, port }, ticket) => {
      const found = unseal(deps, Ticket, ticket);
      if (found === undefined || found.id !== id || found.port !== port) return undefined;
      const person = await deps.credentials.takeTicket(found.secret);
      if (person === undefined) return undefined;
      const untilMs = deps.clock.now().getTime() + COOKIE_SECONDS * 1_000;
      const pass = { kind: "pass" as const, id, port, tokenId: person.tokenId, untilMs };
      return { pass: seal(deps, pass satisfies z.infer<typeof Pass>), seconds: COOKIE_SECONDS };
    },
    findToken: async ({ id, port }, passes) => {
      for (const text of passes) {
        const pass = unseal(deps, Pass, text);
        if (pass === undefined || pass.id !== id || pass.port !== port) continue;
        const tokenId = pass.tokenId as TokenId;
        if (pass.untilMs > deps.clock.now().getTime() && (await isGood(tokenId))) return tokenId;
      }
      return undefined;
    },
  };
}
