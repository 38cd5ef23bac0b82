/** What the address says about a page; anything else in it is left out. Pages check again what they read: the router merges the raw address back in. */
import { SandboxState } from "@drover/contract";
import { FEED_GROUPS, type FeedGroup } from "@drover/contract/views";

type Given = Readonly<Record<string, unknown>>;

const readText = (value: unknown): string | undefined => {
  // The router reads `?q=123` as a number.
  const text = typeof value === "number" ? String(value) : value;
  return typeof text === "string" && text !== "" ? text : undefined;
};

const readWords = <T extends string>(value: unknown, known: readonly T[]): readonly T[] => {
  const words = new Set(readText(value)?.split(","));
  return known.filter((word) => words.has(word));
};

const readSeq = (value: unknown): number | undefined => {
  const seq = Number(value);
  return Number.isSafeInteger(seq) && seq > 0 ? seq : undefined;
};

/** The page to return to: only a path of our own, since `//elsewhere` would leave the origin. */
export function parseLoginSearch(given: Given): { readonly return?: string } {
  const path = readText(given["return"]);
  return path !== undefined && /^\/(?![/\\])/.test(path) ? { return: path } : {};
}

export interface SandboxesSearch {
  readonly state?: string;
  readonly q?: string;
}

export function parseSandboxesSearch(given: Given): SandboxesSearch {
  const states = readWords(given["state"], SandboxState.options);
  const q = readText(given["q"]);
  return { ...(states.length > 0 ? { state: states.join(",") } : {}), ...(q === undefined ? {} : { q }) };
}

export interface RunSearch {
  /** sandbox_seq of the selected event. */
  readonly e?: number;
  readonly kinds?: string;
  readonly q?: string;
}

export const parseKinds = (kinds: string | undefined): readonly FeedGroup[] => readWords(kinds, FEED_GROUPS);

export function parseRunSearch(given: Given): RunSearch {
  const e = readSeq(given["e"]);
  const kinds = parseKinds(readText(given["kinds"]));
  const q = readText(given["q"]);
  return {
    ...(e === undefined ? {} : { e }),
    ...(kinds.length > 0 ? { kinds: kinds.join(",") } : {}),
    ...(q === undefined ? {} : { q }),
  };
}
