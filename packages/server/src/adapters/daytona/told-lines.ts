/** The lines in which a command tells of itself, also when the log is read again from its beginning. */
import { z } from "zod";

const End = z.object({ code: z.number().nullable(), signal: z.string().nullable(), isTimedOut: z.boolean() });
export type End = z.infer<typeof End>;

export interface ToldLines {
  /** Text of a session's log, cut anywhere. */
  read(text: string): void;
  /** The log will be sent again from its beginning: what was delivered stays delivered once. */
  restart(): void;
  /** Undefined before the last line came. */
  readonly end: End | undefined;
  /** Whole lines that were delivered. */
  readonly count: number;
}

const STREAMS: Readonly<Record<string, "stdout" | "stderr">> = { "1": "stdout", "2": "stderr" };

export function readToldLines(onChunk: (type: "stdout" | "stderr", chunk: Uint8Array) => void): ToldLines {
  let rest = "";
  let seen = 0;
  let delivered = 0;
  let end: End | undefined;
  const take = (line: string) => {
    seen += 1;
    if (seen <= delivered) return;
    delivered = seen;
    const stream = STREAMS[line.charAt(0)];
    if (stream !== undefined) onChunk(stream, Buffer.from(line.slice(1), "base64"));
    else if (line.startsWith(".")) end = End.parse(JSON.parse(line.slice(1)));
  };
  return {
    read: (text) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      lines.forEach(take);
    },
    restart: () => {
      rest = "";
      seen = 0;
    },
    get end() {
      return end;
    },
    get count() {
      return delivered;
    },
  };
}
