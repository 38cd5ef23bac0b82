/** What an agent asks before it acts: answered by policy, by a person, or by the deadline. Any runtime may use it.
 *
 *  A request outlives the worker: its mark says what was asked, so that an agent that is started again and asks the same gets
 *  the answer that was given meanwhile. */
import type { Json, PermissionOption, PermissionPolicy } from "@drover/contract";
import { createHash } from "node:crypto";
import { z } from "zod";
import type { AgentEvent, PermissionAnswer, Receipt } from "./agent-runtime.ts";
import type { Clock } from "./clock.ts";

export interface PermissionQuestion {
  readonly kind: "tool" | "question";
  readonly turn: number;
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly toolUseId?: string;
  readonly options?: readonly PermissionOption[];
}

export interface PermissionVerdict {
  readonly decision: "allow" | "deny";
  readonly by: "policy" | "person" | "deadline";
  readonly optionId?: string;
  /** What a person says to a question. */
  readonly text?: string;
  readonly note?: string;
}

const Answer = z.object({
  messageId: z.string(),
  requestId: z.string(),
  decision: z.enum(["allow", "deny"]),
  optionId: z.string().optional(),
  text: z.string().optional(),
  note: z.string().optional(),
});
const Waiting = z.object({
  requestId: z.string(),
  /** Names what was asked. */
  fingerprint: z.string(),
  turn: z.int(),
  deadlineMs: z.number().nullable(),
  answer: Answer.optional(),
});
type Waiting = z.infer<typeof Waiting>;

export interface PermissionParts {
  readonly policy: PermissionPolicy;
  readonly clock: Clock;
  readonly newId: () => string;
  /** Records events in the session's stream, with its mark. */
  readonly emit: (events: readonly AgentEvent[], receipt?: Receipt) => void;
  /** What `getMark` gave in an earlier life. */
  readonly mark?: unknown;
}

export interface Permissions {
  /** Never rejects; when `signal` is aborted the request stays open and the agent is refused. */
  ask(question: PermissionQuestion, signal: AbortSignal): Promise<PermissionVerdict>;
  /** Takes a person's answer, or says why nobody waits for it. */
  answer(answer: PermissionAnswer): string | undefined;
  /** Refuses all that is open, because the turn that asked is over. */
  abandon(why: string): void;
  getMark(): Json;
}

/** A name, or the beginning of one and `*`. */
export const matchesTool = (pattern: string, tool: string) =>
  pattern.endsWith("*") ? tool.startsWith(pattern.slice(0, -1)) : pattern === tool;

/** The first rule that fits, else the policy's word. A question is for a person: policy cannot know the answer. */
export function decidePermission(
  policy: PermissionPolicy,
  { kind, tool }: Pick<PermissionQuestion, "kind" | "tool">,
): "allow" | "deny" | "ask" {
  const decision = policy.rules.find((rule) => matchesTool(rule.tool, tool))?.decision ?? policy.decision;
  return kind === "question" && decision === "allow" ? "ask" : decision;
}

const KINDS = {
  allow: ["allow_once", "allow_always"],
  deny: ["reject_once", "reject_always"],
} as const;

/** The option that says the decision, by its kind: ids differ from agent to agent. */
export function pickOption(
  options: readonly PermissionOption[],
  { decision, optionId }: Pick<PermissionVerdict, "decision" | "optionId">,
): PermissionOption | undefined {
  const chosen = options.find((option) => option.id === optionId);
  if (chosen !== undefined) return chosen;
  return KINDS[decision].flatMap((kind) => options.filter((option) => option.kind === kind))[0];
}

const toFingerprint = ({ kind, tool, input }: PermissionQuestion): string =>
  createHash("sha256")
    .update(JSON.stringify([kind, tool, input]))
    .digest("base64url");

export function createPermissions(parts: PermissionParts): Permissions {
  const { clock, policy } = parts;
  /** Asked in an earlier life, and not again yet. */
  const left: Waiting[] = z.array(Waiting).catch([]).parse(parts.mark);
  const open = new Map<string, { waiting: Waiting; settle: (verdict: PermissionVerdict) => void }>();

  const toRequested = (question: PermissionQuestion, requestId: string, deadlineMs: number | null): AgentEvent => ({
    event_type: "agent.permission_requested",
    event_data: {
      turn: question.turn,
      request_id: requestId,
      kind: question.kind,
      ...(question.toolUseId === undefined ? {} : { tool_use_id: question.toolUseId }),
      tool: question.tool,
      input: question.input,
      options: question.options ?? [],
      deadline_at: deadlineMs === null ? null : new Date(deadlineMs).toISOString(),
    },
  });
  const toAnswered = (turn: number, requestId: string, verdict: PermissionVerdict): AgentEvent => ({
    event_type: "agent.permission_answered",
    event_data: {
      turn,
      request_id: requestId,
      decision: verdict.decision,
      by: verdict.by,
      ...(verdict.optionId === undefined ? {} : { option_id: verdict.optionId }),
      ...(verdict.text === undefined ? {} : { text: verdict.text }),
      ...(verdict.note === undefined ? {} : { note: verdict.note }),
    },
  });

  const settle = (requestId: string, verdict: PermissionVerdict, receipt?: Receipt) => {
    const found = open.get(requestId);
    if (found === undefined) return;
    open.delete(requestId);
    parts.emit([toAnswered(found.waiting.turn, requestId, verdict)], receipt);
    found.settle(verdict);
  };
  const settleByPerson = ({ messageId, requestId, ...answer }: z.infer<typeof Answer>, turn: number) =>
    settle(requestId, { ...answer, by: "person" } as PermissionVerdict, { messageId, status: "seen", turn });

  const wait = async (question: PermissionQuestion, signal: AbortSignal): Promise<PermissionVerdict> => {
    const fingerprint = toFingerprint(question);
    const again = left.findIndex((one) => one.fingerprint === fingerprint);
    const [before] = again === -1 ? [] : left.splice(again, 1);
    const deadlineMs =
      before === undefined
        ? policy.deadline_s === undefined
          ? null
          : clock.now().getTime() + policy.deadline_s * 1_000
        : before.deadlineMs;
    const requestId = before?.requestId ?? `ask-${parts.newId()}`;
    const { promise, resolve } = Promise.withResolvers<PermissionVerdict>();
    open.set(requestId, {
      waiting: { requestId, fingerprint, turn: question.turn, deadlineMs },
      settle: resolve,
    });
    // Told again after a restart: a server that had closed it opens it again.
    parts.emit([toRequested(question, requestId, deadlineMs)]);
    if (before?.answer !== undefined) settleByPerson(before.answer, question.turn);

    const over = new AbortController();
    const closed = () => resolve({ decision: "deny", by: "policy", note: "the session ends" });
    if (signal.aborted) closed();
    else signal.addEventListener("abort", closed, { once: true });
    if (deadlineMs !== null) {
      const ended = AbortSignal.any([over.signal, signal]);
      const refuse = () => settle(requestId, { decision: "deny", by: "deadline", note: "nobody answered in time" });
      const leftMs = deadlineMs - clock.now().getTime();
      if (leftMs <= 0) refuse();
      else void clock.sleep(leftMs, ended).then(() => (ended.aborted ? undefined : refuse()));
    }
    return promise.finally(() => {
      over.abort();
      signal.removeEventListener("abort", closed);
    });
  };

  return {
    ask(question, signal) {
      const decision = decidePermission(policy, question);
      if (decision === "ask") return wait(question, signal);
      const option = pickOption(question.options ?? [], { decision });
      const verdict = { decision, by: "policy", ...(option === undefined ? {} : { optionId: option.id }) } as const;
      const requestId = `ask-${parts.newId()}`;
      parts.emit([toRequested(question, requestId, null), toAnswered(question.turn, requestId, verdict)]);
      return Promise.resolve(verdict);
    },
    answer(answer) {
      const found = open.get(answer.requestId);
      if (found !== undefined) {
        settleByPerson({ ...answer }, found.waiting.turn);
        return undefined;
      }
      const before = left.find((one) => one.requestId === answer.requestId);
      // Given again by an inbox that was restarted too.
      if (before?.answer?.messageId === answer.messageId) return undefined;
      if (before === undefined || before.answer !== undefined) return "nobody waits for this answer";
      before.answer = { ...answer };
      parts.emit([]);
      return undefined;
    },
    abandon(why) {
      const verdict = { decision: "deny", by: "policy", note: why } as const;
      for (const requestId of open.keys()) settle(requestId, verdict);
      for (const { requestId, turn, answer } of left.splice(0)) {
        const failed = { status: "failed", turn, detail: why } as const;
        parts.emit(
          [toAnswered(turn, requestId, verdict)],
          answer === undefined ? undefined : { messageId: answer.messageId, ...failed },
        );
      }
    },
    getMark: () =>
      JSON.parse(JSON.stringify([...left, ...Array.from(open.values(), ({ waiting }) => waiting)])) as Json,
  };
}
