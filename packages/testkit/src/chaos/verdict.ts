/** What must be true of a sandbox when its schedule is over. Pure: from what was accepted, stored and received to complaints. */
import type { EventFrame } from "@drover/contract";
import type { Accepted } from "./accept-log.ts";
import { toStepText, type Plan } from "./plan.ts";
import type { StoredEvent } from "./store-truth.ts";

/** Of many complaints of one kind the first few tell enough. */
const few = (complaints: readonly string[]) =>
  complaints.length <= 5 ? complaints : [...complaints.slice(0, 5), `... and ${complaints.length - 5} more like it`];

export function complainOfStore(stored: readonly StoredEvent[], accepted: readonly Accepted[]): readonly string[] {
  const seqs = new Map<string, number[]>();
  for (const { client_event_id: id, seq } of stored) if (id !== null) seqs.set(id, [...(seqs.get(id) ?? []), seq]);
  const holes = stored.flatMap(({ sandbox_seq }, index) =>
    sandbox_seq === index + 1 ? [] : [`sandbox_seq ${sandbox_seq} stands at place ${index + 1}`],
  );
  const twice = [...seqs]
    .filter(([, list]) => list.length > 1)
    .map(([id, list]) => `${id} is stored ${list.length} times`);
  const lost = accepted
    .filter(({ id }) => !seqs.has(id))
    .map(({ id, type }) => `${id} (${type}) was accepted and is not stored`);
  let last = 0;
  const disorder = accepted.flatMap(({ id }) => {
    const seq = seqs.get(id)?.[0] ?? last;
    const before = last;
    last = seq;
    return seq < before ? [`${id} was accepted later and is stored earlier than its neighbour`] : [];
  });
  return [...few(holes), ...few(twice), ...few(lost), ...few(disorder)];
}

/** The agent said every step of its script once, in order: no step was lost or played again by a death. */
export function complainOfScript(stored: readonly StoredEvent[], plan: Plan): readonly string[] {
  const said = stored
    .filter((event) => event.event_type === "agent.message")
    .map((event) => String(event.event_data["content"]))
    .filter((text) => text.startsWith("step "));
  const wanted = Array.from({ length: plan.segments }, (_, segment) =>
    Array.from({ length: plan.rounds }, (_item, round) =>
      toStepText(segment + 1, "{{round}}", plan.padding).replace("{{round}}", String(round + 1)),
    ),
  ).flat();
  const name = (text: string | undefined) => text?.split(" ")[1] ?? "nothing";
  const wrong = wanted.findIndex((text, index) => said[index] !== text);
  if (wrong !== -1) return [`step ${name(said[wrong])} is told where ${name(wanted[wrong])} belongs`];
  return said.length > wanted.length ? [`step ${name(said[wanted.length])} is told again at the end`] : [];
}

export interface MessageFate {
  readonly id: string;
  readonly state: string;
}

export function complainOfMessages(
  sent: readonly string[],
  fates: readonly MessageFate[],
  stored: readonly StoredEvent[],
): readonly string[] {
  const states = new Map(fates.map(({ id, state }) => [id, state]));
  return sent.flatMap((id) => {
    const told = stored.filter(
      (event) => event.event_type === "agent.message_injected" && event.event_data["message_id"] === id,
    );
    const state = states.get(id);
    return [
      ...(told.length === 1 ? [] : [`message ${id} reached the agent ${told.length} times`]),
      ...(state === "seen" ? [] : [`message ${id} is ${state}`]),
    ];
  });
}

/** May be asked at any time: a receipt is never ahead of the fact. `given`: all that was ever given to the worker's disk. */
export function complainOfSeen(fates: readonly MessageFate[], given: readonly Accepted[]): readonly string[] {
  const told = new Set(given.map((one) => one.messageId));
  return fates
    .filter(({ id, state }) => state === "seen" && !told.has(id))
    .map(({ id }) => `message ${id} is called seen, and no agent was given it`);
}

/** The subscriber has exactly what is stored, in its order. */
export function complainOfReceived(
  name: string,
  received: readonly EventFrame[],
  stored: readonly StoredEvent[],
): readonly string[] {
  const got = new Map<number, number>();
  for (const { seq } of received) got.set(seq, (got.get(seq) ?? 0) + 1);
  const known = new Set(stored.map(({ seq }) => seq));
  const missing = stored.filter(({ seq }) => !got.has(seq)).map(({ seq }) => `${name} has not got ${seq}`);
  const twice = [...got].filter(([, times]) => times > 1).map(([seq, times]) => `${name} got ${seq} ${times} times`);
  const foreign = [...got.keys()]
    .filter((seq) => !known.has(seq))
    .map((seq) => `${name} got ${seq}, which is not stored`);
  const disorder = received.flatMap(({ seq }, index) =>
    index > 0 && seq < (received[index - 1]?.seq ?? 0) ? [`${name} got ${seq} after ${received[index - 1]?.seq}`] : [],
  );
  const bodies = new Map(stored.map((event) => [event.seq, event]));
  const changed = received.filter((frame) => {
    const event = bodies.get(frame.seq);
    if (event === undefined) return false;
    const { source: _source, original_event_type: type, ...payload } = frame.payload;
    return type !== event.event_type || frame.sandbox_seq !== event.sandbox_seq || !isSame(payload, event.event_data);
  });
  return [
    ...few(missing),
    ...few(twice),
    ...few(foreign),
    ...few(disorder),
    ...few(changed.map(({ seq }) => `${name} got another ${seq} than is stored`)),
  ];
}

/** Equal as JSON, whatever the order of keys. */
function isSame(one: unknown, other: unknown): boolean {
  if (typeof one !== "object" || one === null || typeof other !== "object" || other === null) return one === other;
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => isSame((one as Record<string, unknown>)[key], (other as Record<string, unknown>)[key]))
  );
}
