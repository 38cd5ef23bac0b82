/** A verb of the command line: what it takes, how it is explained, what it does. */
import type { Client, ClientOptions } from "@drover/client";
import type { Paint } from "./terminal.ts";

export interface Flag {
  readonly name: string;
  readonly short?: string;
  /** Present: the flag takes a value, shown by this word. */
  readonly value?: string;
  readonly many?: true;
  readonly doc: string;
}

export interface Verb {
  readonly name: string;
  readonly summary: string;
  /** After the name: `<id> <text...>`. */
  readonly usage: string;
  readonly flags: readonly Flag[];
  /** Talks to a running server: `--url` and `--token-file` are understood. */
  readonly isRemote?: true;
  readonly details?: string;
  run(context: Context, args: Arguments): Promise<number>;
}

export interface Arguments {
  readonly positionals: readonly string[];
  readonly has: (flag: string) => boolean;
  readonly get: (flag: string) => string | undefined;
  readonly all: (flag: string) => readonly string[];
}

/** A terminal whose keys can be taken over. */
export interface Console {
  size(): { readonly columns: number; readonly rows: number };
  onResize(listener: () => void): void;
  write(bytes: Uint8Array): void;
  /** Every key goes to the listener, Ctrl-C too, until the returned function gives the terminal back as it was. */
  takeOver(onKeys: (bytes: Uint8Array) => void): () => void;
}

/** The process as a verb sees it; tests give another. */
export interface Context {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly version: string;
  /** Columns that a line may fill. */
  readonly width: number;
  readonly paint: Paint;
  readonly now: () => Date;
  /** Aborts at the first SIGINT or SIGTERM. */
  readonly signal: AbortSignal;
  /** One line to standard output. */
  readonly print: (line: string) => void;
  /** One line to standard error. */
  readonly warn: (line: string) => void;
  /** Undefined when nobody can answer. */
  readonly ask: ((question: string) => Promise<string>) | undefined;
  readonly readInput: () => Promise<string>;
  /** As it is, without a line end of ours. */
  readonly write: (to: "out" | "err", content: string | Uint8Array) => void;
  /** Standard output is one. */
  readonly isOnTerminal: boolean;
  /** Ends early when `signal` aborts. */
  readonly wait: (ms: number) => Promise<void>;
  /** The terminal of this process; undefined when there is none. */
  readonly console: Console | undefined;
  readonly createClient: (options: ClientOptions) => Client;
}
