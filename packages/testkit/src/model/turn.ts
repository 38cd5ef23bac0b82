/** What a scripted model says in one turn, and how it fails. */
import type { Hold } from "./hold.ts";

export interface ScriptedTool {
  /** As the vendor's agent calls it: `Write`, `apply_patch`, `run_shell_command`. */
  readonly name: string;
  readonly input: unknown;
  readonly id?: string;
  /** OpenAI Responses: a custom tool, whose input is plain text. */
  readonly isCustom?: true;
}

export interface ScriptedUsage {
  /** Without what was read from or written to a cache. */
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

export interface ModelTurn {
  readonly thinking?: string;
  readonly text?: string;
  readonly tools?: readonly ScriptedTool[];
  readonly usage?: Partial<ScriptedUsage>;
  /** Before the first byte of the answer. */
  readonly holdFirst?: Hold;
  /** After the content, before the frames that end the answer. */
  readonly holdLast?: Hold;
  /** `hang`: the content comes and the end never; `break`: the connection is cut there. */
  readonly end?: "hang" | "break";
  /** In place of an answer. */
  readonly error?: {
    readonly status: number;
    readonly body?: unknown;
    readonly headers?: Readonly<Record<string, string>>;
  };
}

/** A turn with what was left out. */
export interface SpokenTurn {
  readonly thinking: string | undefined;
  readonly text: string | undefined;
  readonly tools: readonly (ScriptedTool & { readonly id: string })[];
  readonly usage: ScriptedUsage;
}

/** One event of a stream: `name` is the line `event:`, where the protocol has one. */
export interface Frame {
  readonly name?: string;
  readonly data: unknown;
}

/** A turn in one protocol: whole, and as a stream. */
export interface Spoken {
  readonly whole: unknown;
  readonly content: readonly Frame[];
  readonly ending: readonly Frame[];
}

export interface Speaker {
  readonly model: string;
  readonly newId: (prefix: string) => string;
}

const USAGE: ScriptedUsage = { input: 100, output: 20, cacheRead: 0, cacheWrite: 0 };

export const toSpokenTurn = (turn: ModelTurn, newId: Speaker["newId"], idPrefix: string): SpokenTurn => ({
  thinking: turn.thinking,
  text: turn.text,
  tools: (turn.tools ?? []).map((tool) => ({ ...tool, id: tool.id ?? newId(idPrefix) })),
  usage: { ...USAGE, ...turn.usage },
});

/** Small pieces, as models send them. */
export function toPieces(text: string): readonly string[] {
  const size = Math.max(24, Math.ceil(text.length / 1_000));
  return Array.from({ length: Math.ceil(text.length / size) }, (_, index) =>
    text.slice(index * size, (index + 1) * size),
  );
}
