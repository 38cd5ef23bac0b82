/** What the address says about a page; anything else in it is left out. Pages check again what they read: the router merges the raw address back in. */
import { RuntimeName, SandboxState } from "@drover/contract";
import { FEED_GROUPS, type FeedGroup, type TimelineScale } from "@drover/contract/views";

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

const readOne = <T extends string>(value: unknown, known: readonly T[]): T | undefined =>
  known.find((one) => one === readText(value));

const readSeq = (value: unknown): number | undefined => {
  const seq = Number(value);
  return Number.isSafeInteger(seq) && seq > 0 ? seq : undefined;
};

const readWithin = (value: unknown, least: number, most: number): number | undefined => {
  const number = readText(value) === undefined ? Number.NaN : Number(value);
  return number >= least && number <= most ? number : undefined;
};

/** Leaves out what is not said. */
const keepKnown = <T extends object>(given: { [K in keyof T]: T[K] | undefined }): T =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as T;

/** The page to return to: only a path of our own, since `//elsewhere` would leave the origin. */
export function parseLoginSearch(given: Given): { readonly return?: string } {
  const path = readText(given["return"]);
  return path !== undefined && /^\/(?![/\\])/.test(path) ? { return: path } : {};
}

/** As the server takes it: another word would be refused. */
const readAgent = (value: unknown): string | undefined => {
  const name = readText(value);
  return name !== undefined && RuntimeName.safeParse(name).success ? name : undefined;
};

export interface SandboxesSearch {
  readonly state?: string;
  readonly q?: string;
  readonly project?: string;
  /** The runtime that works in them. */
  readonly agent?: string;
}

export function parseSandboxesSearch(given: Given): SandboxesSearch {
  const states = readWords(given["state"], SandboxState.options);
  return keepKnown<SandboxesSearch>({
    state: states.length > 0 ? states.join(",") : undefined,
    q: readText(given["q"]),
    project: readText(given["project"]),
    agent: readAgent(given["agent"]),
  });
}

export const RUN_TABS = ["activity", "changes", "terminal", "files", "messages", "timeline", "details", "git"] as const;
export type RunTab = (typeof RUN_TABS)[number];

export interface RunSearch {
  /** Activity when absent. */
  readonly tab?: Exclude<RunTab, "activity">;
  /** sandbox_seq of the selected event. */
  readonly e?: number;
  /** seq of an event, as evidence names it; soon replaced by `e`. */
  readonly seq?: number;
  readonly kinds?: string;
  readonly q?: string;
  /** Directory that the files tab lists, and the file it shows. */
  readonly path?: string;
  readonly file?: string;
  /** Recording that the terminal tab plays. */
  readonly cast?: string;
  /** sandbox_seq of the agent's command that the terminal tab shows. */
  readonly command?: number;
  /** Turn that the changes tab shows; all of them when absent. */
  readonly turn?: number;
  /** The changes tab shows what is left of all changes, those that are new to who looks, or those between two events. */
  readonly scope?: "net" | "new" | "between";
  /** sandbox_seq of the first and the last event that the changes tab shows the changes of. */
  readonly from?: number;
  readonly to?: number;
  /** Line of the shown file whose origin is told. */
  readonly line?: number;
  /** What the timeline is as wide as; its time when absent. */
  readonly by?: Exclude<TimelineScale, "time">;
  /** How many times wider than the page it is, and the middle of what is seen, in percent. */
  readonly zoom?: number;
  readonly mid?: number;
  /** What the list below it tells the cost of; turns when absent. */
  readonly list?: "tools" | "files";
}

export const parseKinds = (kinds: string | undefined): readonly FeedGroup[] => readWords(kinds, FEED_GROUPS);

const readTab = (value: unknown): Exclude<RunTab, "activity"> | undefined =>
  RUN_TABS.find((tab): tab is Exclude<RunTab, "activity"> => tab === value && tab !== "activity");

export function parseRunSearch(given: Given): RunSearch {
  const kinds = parseKinds(readText(given["kinds"]));
  return keepKnown<RunSearch>({
    tab: readTab(given["tab"]),
    e: readSeq(given["e"]),
    seq: readSeq(given["seq"]),
    kinds: kinds.length > 0 ? kinds.join(",") : undefined,
    q: readText(given["q"]),
    path: readText(given["path"]),
    file: readText(given["file"]),
    cast: readText(given["cast"]),
    command: readSeq(given["command"]),
    turn: readSeq(given["turn"]),
    scope: readOne(given["scope"], ["net", "new", "between"]),
    from: readSeq(given["from"]),
    to: readSeq(given["to"]),
    line: readSeq(given["line"]),
    by: readOne(given["by"], ["cost", "turns"]),
    zoom: readWithin(given["zoom"], 1, 256),
    mid: readWithin(given["mid"], 0, 100),
    list: readOne(given["list"], ["tools", "files"]),
  });
}

/** Another view of the same run: the selected event is taken along where it is shown, too. */
export const toTabSearch = (tab: RunTab, e: number | undefined): RunSearch => ({
  ...(tab === "activity" ? {} : { tab }),
  ...(e !== undefined && (tab === "activity" || tab === "timeline") ? { e } : {}),
});

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
  readonly align?: "turn" | "order" | "time" | "file";
  /** The file whose two versions are compared. */
  readonly file?: string;
  /** The form of a new race is open. */
  readonly race?: true;
}

export const parseCompareSearch = (given: Given): CompareSearch =>
  keepKnown<CompareSearch>({
    a: readText(given["a"]),
    b: readText(given["b"]),
    align: readOne(given["align"], ["turn", "order", "time", "file"]),
    file: readText(given["file"]),
    race: given["race"] === true ? true : undefined,
  });

const WORK_VIEWS = ["board", "graph", "list"] as const;
export type WorkView = (typeof WORK_VIEWS)[number];

export interface WorkSearch {
  /** The board when absent. */
  readonly view?: WorkView;
  readonly project?: string;
  /** What stands on the board; tickets when absent. */
  readonly of?: "tasks";
  /** The form of a new ticket is open. */
  readonly new?: true;
  /** Of the graph: whose sheet is open. */
  readonly node?: string;
}

export type TicketSearch = Pick<WorkSearch, "node">;

export const parseTicketSearch = (given: Given): TicketSearch =>
  keepKnown<TicketSearch>({ node: readText(given["node"]) });

export const parseWorkSearch = (given: Given): WorkSearch =>
  keepKnown<WorkSearch>({
    view: WORK_VIEWS.find((view) => view === given["view"] && view !== "board"),
    project: readText(given["project"]),
    of: readOne(given["of"], ["tasks"]),
    new: given["new"] === true || given["new"] === "true" ? true : undefined,
    node: readText(given["node"]),
  });

export const MONITOR_TABS = ["overview", "guardian", "conductor", "anomalies", "alerts", "stuck", "passes"] as const;
export type MonitorTab = (typeof MONITOR_TABS)[number];

export const MONITOR_RANGES = ["1h", "6h", "24h", "7d"] as const;
export type MonitorRange = (typeof MONITOR_RANGES)[number];

export interface MonitorSearch {
  /** The overview when absent. */
  readonly tab?: MonitorTab;
  /** How far back the charts look; an hour when absent. */
  readonly range?: MonitorRange;
}

export const parseMonitorSearch = (given: Given): MonitorSearch =>
  keepKnown<MonitorSearch>({
    tab: MONITOR_TABS.find((tab) => tab === given["tab"] && tab !== "overview"),
    range: MONITOR_RANGES.find((range) => range === given["range"] && range !== "1h"),
  });

export const AGENT_TABS = ["overview", "health", "runs", "config"] as const;
export type AgentTab = (typeof AGENT_TABS)[number];

export interface AgentSearch {
  /** The overview when absent. */
  readonly tab?: AgentTab;
}

export const parseAgentSearch = (given: Given): AgentSearch =>
  keepKnown<AgentSearch>({ tab: AGENT_TABS.find((tab) => tab === given["tab"] && tab !== "overview") });

const SETTINGS_SECTIONS = [
  "appearance",
  "keyboard",
  "notifications",
  "projects",
  "providers",
  "models",
  "access",
  "webhooks",
] as const;
export type SettingsSection = (typeof SETTINGS_SECTIONS)[number];

export interface SettingsSearch {
  /** The appearance when absent. */
  readonly section?: SettingsSection;
}

/** What people look for under another word. */
const OTHERWISE: Readonly<Record<string, SettingsSection>> = { git: "projects", tokens: "access" };

export const parseSettingsSearch = ({ section: given }: Given): SettingsSearch =>
  keepKnown<SettingsSearch>({
    section: SETTINGS_SECTIONS.find(
      (section) => (section === given || section === OTHERWISE[String(given)]) && section !== "appearance",
    ),
  });

export const COST_SPLITS = ["model", "project", "ticket", "sandbox", "phase"] as const;
export type CostSplit = (typeof COST_SPLITS)[number];

export interface CostsSearch {
  /** By model when absent. */
  readonly by?: CostSplit;
}

export const parseCostsSearch = (given: Given): CostsSearch =>
  keepKnown<CostsSearch>({ by: COST_SPLITS.find((by) => by === given["by"] && by !== "model") });
