/** A recording of a terminal, asciicast v2, as steps that a player draws. Written inside a sandbox: anything may stand in it. */
export interface CastStep {
  /** Seconds since the start, with long silences shortened. */
  readonly at: number;
  readonly text: string;
}

export interface Cast {
  readonly columns: number;
  readonly rows: number;
  readonly seconds: number;
  readonly steps: readonly CastStep[];
}

const LONGEST_SILENCE_SECONDS = 2;
const WIDEST = 500;

const parseLine = (line: string): unknown => {
  try {
    return JSON.parse(line) as unknown;
  } catch {
    // Expected: the recording was cut in the middle of a line.
    return undefined;
  }
};

const readSize = (value: unknown, otherwise: number): number =>
  typeof value === "number" && Number.isInteger(value) && value > 0 ? Math.min(value, WIDEST) : otherwise;

/** Silences longer than `longestSilence` seconds are shortened to it. Lines that are no steps are left out, so that a recording that was cut still plays. */
export function parseCast(text: string, longestSilence = LONGEST_SILENCE_SECONDS): Cast {
  const [first = "", ...lines] = text.split("\n");
  const header = parseLine(first);
  const named = typeof header === "object" && header !== null ? (header as Record<string, unknown>) : {};
  const steps: CastStep[] = [];
  let at = 0;
  let before = 0;
  for (const line of lines) {
    const step = parseLine(line);
    if (!Array.isArray(step)) continue;
    const [time, kind, output] = step as readonly unknown[];
    if (typeof time !== "number" || kind !== "o" || typeof output !== "string") continue;
    at += Math.min(Math.max(0, time - before), longestSilence);
    before = Math.max(before, time);
    steps.push({ at, text: output });
  }
  return { columns: readSize(named["width"], 80), rows: readSize(named["height"], 24), seconds: at, steps };
}
