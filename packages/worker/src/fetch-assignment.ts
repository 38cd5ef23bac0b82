/** What the worker is to do: asked of the server, remembered in the journal for a restart while the server is away. */
import { API_BASE, Assignment, type Json } from "@drover/contract";
import { toDelayMs } from "./backoff.ts";
import type { Clock } from "./clock.ts";
import type { Log } from "./log.ts";
import type { Outbox } from "./outbox.ts";
import type { Transport } from "./transport.ts";
import { type Ending, toVerdict, type Verdict } from "./verdict.ts";

const NOTE = "assignment";
const TIMEOUT_MS = 15_000;
/** With a remembered assignment the agent does not wait longer than this for the server. */
const RESTART_TIMEOUT_MS = 3_000;

export interface AssignmentParts {
  readonly outbox: Outbox;
  readonly transport: Transport;
  readonly sandboxId: string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
}

/** What the models have cost so far; null when nobody knows, or the server does not answer now. */
export async function fetchSpent(
  { transport, sandboxId }: Pick<AssignmentParts, "transport" | "sandboxId">,
  signal: AbortSignal,
): Promise<number | null> {
  const path = `${API_BASE}/sandboxes/${sandboxId}/assignment`;
  const verdict = toVerdict(await transport.send({ method: "GET", path, timeoutMs: TIMEOUT_MS }, signal));
  if (verdict.kind !== "ok") return null;
  try {
    return Assignment.parse(JSON.parse(verdict.body)).spent_usd;
  } catch {
    // Expected: something else answered in the server's place.
    return null;
  }
}

export type Fetched =
  | { readonly kind: "assignment"; readonly assignment: Assignment }
  | { readonly kind: "ended"; readonly ending: Ending }
  | { readonly kind: "refused"; readonly detail: string }
  | { readonly kind: "closed" };

export async function fetchAssignment(parts: AssignmentParts, signal: AbortSignal): Promise<Fetched> {
  const { outbox, log } = parts;
  const remembered = Assignment.safeParse(outbox.getNote(NOTE)).data;
  const path = `${API_BASE}/sandboxes/${parts.sandboxId}/assignment`;

  const accept = async (verdict: Extract<Verdict, { kind: "ok" }>): Promise<Fetched> => {
    const parsed = Assignment.safeParse(JSON.parse(verdict.body));
    if (!parsed.success) return { kind: "refused", detail: `the assignment is not readable: ${parsed.error.message}` };
    await outbox.note({ [NOTE]: parsed.data as Json });
    return { kind: "assignment", assignment: parsed.data };
  };

  for (let failures = 1; !signal.aborted; failures++) {
    const timeoutMs = remembered === undefined ? TIMEOUT_MS : RESTART_TIMEOUT_MS;
    const verdict = toVerdict(await parts.transport.send({ method: "GET", path, timeoutMs }, signal));
    if (verdict.kind === "ok") return accept(verdict);
    if (verdict.kind === "ended") return verdict;
    if (verdict.kind === "refused") return { kind: "refused", detail: verdict.detail };
    if (remembered !== undefined) {
      log("assignment.remembered", { detail: verdict.detail });
      return { kind: "assignment", assignment: remembered };
    }
    if (failures === 1) log("assignment.waiting", { detail: verdict.detail });
    await parts.clock.sleep(toDelayMs(failures, verdict.afterSeconds, parts.random), signal);
  }
  return { kind: "closed" };
}
