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

export const RUN_TABS = ["activity", "changes", "terminal", "files", "messages", "timeline", "details"] as const;
export type RunTab = (typeof RUN_TABS)[number];

export interface RunSearch {
  /** Activity when absent. */
  readonly tab?: Exclude<RunTab, "activity">;
  /** sandbox_seq of the selected event. */
  readonly e?: number;
  readonly kinds?: string;
  readonly q?: string;
  /** Directory that the files tab lists, and the file it shows. */
  readonly path?: string;
  readonly file?: string;
  /** Recording that the terminal tab plays. */
  readonly cast?: string;
  /** Turn that the changes tab shows; all of them when absent. */
  readonly turn?: number;
  /** The changes tab shows what is left of all changes, and not each of them. */
  readonly scope?: "net";
}

export const parseKinds = (kinds: string | undefined): readonly FeedGroup[] => readWords(kinds, FEED_GROUPS);

const readTab = (value: unknown): Exclude<RunTab, "activity"> | undefined =>
  RUN_TABS.find((tab): tab is Exclude<RunTab, "activity"> => tab === value && tab !== "activity");

/** Leaves out what is not said. */
const keepKnown = <T extends object>(given: { [K in keyof T]: T[K] | undefined }): T =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as T;

export function parseRunSearch(given: Given): RunSearch {
  const kinds = parseKinds(readText(given["kinds"]));
  return keepKnown<RunSearch>({
    tab: readTab(given["tab"]),
    e: readSeq(given["e"]),
    kinds: kinds.length > 0 ? kinds.join(",") : undefined,
    q: readText(given["q"]),
    path: readText(given["path"]),
    file: readText(given["file"]),
    cast: readText(given["cast"]),
    turn: readSeq(given["turn"]),
    scope: readText(given["scope"]) === "net" ? "net" : undefined,
  });
}

export const REPLAY_PANES = ["files", "terminal", "messages", "feed"] as const;
export type ReplayPane = (typeof REPLAY_PANES)[number];

export interface ReplaySearch {
  /** sandbox_seq of the last event that has happened; the end when absent. */
  readonly at?: number;
  readonly speed?: "1" | "4" | "16" | "60";
  /** What the slider counts; events when absent. */
  readonly by?: "seq" | "time";
  /** Files when absent. */
  readonly pane?: ReplayPane;
  readonly file?: string;
  /** The diff when absent. */
  readonly look?: "diff" | "file";
}

const readOne = <T extends string>(value: unknown, known: readonly T[]): T | undefined =>
  known.find((one) => one === readText(value));

export const parseReplaySearch = (given: Given): ReplaySearch =>
  keepKnown<ReplaySearch>({
    at: readSeq(given["at"]),
    speed: readOne(given["speed"], ["1", "4", "16", "60"]),
    by: readOne(given["by"], ["seq", "time"]),
    pane: readOne(given["pane"], REPLAY_PANES),
    file: readText(given["file"]),
    look: readOne(given["look"], ["diff", "file"]),
  });

export interface CompareSearch {
  readonly a?: string;
  readonly b?: string;
  /** By likeness of turns when absent. */
  readonly align?: "turn" | "order";
}

export const parseCompareSearch = (given: Given): CompareSearch =>
  keepKnown<CompareSearch>({
    a: readText(given["a"]),
    b: readText(given["b"]),
    align: readOne(given["align"], ["turn", "order"]),
  });

const WORK_VIEWS = ["board", "tasks", "graph"] as const;
export type WorkView = (typeof WORK_VIEWS)[number];

export interface WorkSearch {
  /** The board when absent. */
  readonly view?: WorkView;
  readonly project?: string;
}

export const parseWorkSearch = (given: Given): WorkSearch =>
  keepKnown<WorkSearch>({
    view: WORK_VIEWS.find((view) => view === given["view"] && view !== "board"),
    project: readText(given["project"]),
  });
