/** Events as an agent's worker sends them: about 300 bytes of event_data, a dozen types in a plausible mix. */
import { toTraits } from "../packages/core/src/index.ts";

export interface SampleEvent {
  readonly event_type: string;
  readonly event_data: Readonly<Record<string, unknown>> & { readonly turn: number };
  readonly source: "agent" | "worker";
  readonly client_event_id: string;
}

const WORDS =
  "the parser keeps its place when a token ends early so the test in lexer reads one line more and the count is off by one".split(
    " ",
  );

/** Deterministic text of about `length` characters, different for every `seed`. */
function prose(seed: number, length: number): string {
  let text = "";
  for (let i = seed; text.length < length; i = (i * 31 + 7) % 1_000_003) text += `${WORDS[i % WORDS.length]} `;
  return text.slice(0, length);
}

const MAKERS: readonly ((n: number, turn: number) => Omit<SampleEvent, "client_event_id">)[] = [
  (n, turn) => ({
    event_type: "agent.tool_use",
    event_data: {
      turn,
      tool: "Bash",
      tool_use_id: `toolu_${n}`,
      input: { command: `npm test -- ${n}`, description: prose(n, 150) },
    },
    source: "agent",
  }),
  (n, turn) => ({
    event_type: "agent.tool_completed",
    event_data: {
      turn,
      tool: "Bash",
      tool_use_id: `toolu_${n - 1}`,
      is_error: false,
      duration_ms: n % 900,
      output: prose(n, 200),
    },
    source: "agent",
  }),
  (n, turn) => ({
    event_type: "agent.message",
    event_data: { turn, role: "assistant", text: prose(n, 250) },
    source: "agent",
  }),
  (n, turn) => ({ event_type: "agent.thinking", event_data: { turn, thinking: prose(n, 260) }, source: "agent" }),
  (n, turn) => ({
    event_type: "agent.file_edited",
    event_data: {
      turn,
      tool_use_id: `toolu_${n}`,
      file_path: `src/parse/lexer-${n % 40}.ts`,
      change_type: "modified",
      lines_added: n % 30,
      lines_removed: n % 11,
      diff_preview: `@@ -1,3 +1,4 @@\n-${prose(n, 40)}\n+${prose(n + 1, 60)}`,
    },
    source: "worker",
  }),
];

export function makeEvent(n: number, key: string): SampleEvent {
  const make = MAKERS[n % MAKERS.length];
  if (make === undefined) throw new Error("no such event");
  return { ...make(n, Math.floor(n / 40)), client_event_id: key };
}

/** The row that the server writes for an event. */
export interface SampleRow {
  readonly seq: number;
  readonly id: string;
  readonly sandbox_id: string;
  readonly sandbox_seq: number;
  readonly project_id: string;
  readonly task_id: null;
  readonly entity_type: string;
  readonly entity_id: string;
  readonly event_type: string;
  readonly event_data: string;
  readonly source: string;
  readonly created_at: string;
  readonly client_event_id: string;
  readonly generation: number;
  readonly caused_by: null;
  readonly turn: number | null;
  readonly tool: string | null;
  readonly ref: string | null;
  readonly size: number;
  readonly flags: number;
}

/** An id that sorts by `seq`, as those of the server do. */
export const toEventId = (seq: number) => `01980000-0000-7000-8000-${seq.toString(16).padStart(12, "0")}`;

export function makeRow(
  event: SampleEvent,
  seq: number,
  sandbox: { readonly id: string; readonly projectId: string },
): SampleRow {
  const event_data = JSON.stringify(event.event_data);
  return {
    seq,
    id: toEventId(seq),
    sandbox_id: sandbox.id,
    sandbox_seq: seq,
    project_id: sandbox.projectId,
    task_id: null,
    entity_type: "sandbox",
    entity_id: sandbox.id,
    event_type: event.event_type,
    event_data,
    source: event.source,
    created_at: new Date(1_750_000_000_000 + seq).toISOString(),
    client_event_id: event.client_event_id,
    generation: 1,
    caused_by: null,
    ...toTraits(event.event_type, event.event_data as never, false),
    size: Buffer.byteLength(event_data),
  };
}
