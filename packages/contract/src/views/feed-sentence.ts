/** What a line of the feed says where an event is one sentence. */
import type { Tone } from "./feed-row.ts";

export interface Sentence {
  readonly title: string;
  readonly detail?: string | null;
  readonly tone?: Tone;
}

export const count = (n: number, noun: string) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;

export const join = (...parts: readonly (string | null | undefined | false)[]): string | null => {
  const said = parts.filter((part) => typeof part === "string" && part !== "");
  return said.length === 0 ? null : said.join(" · ");
};
