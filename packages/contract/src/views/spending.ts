/** Where a run's money went: each call of a model counts for what it led to, until the next one. */
import type { LogEvent } from "./log-event.ts";
import { readNumber, readRecord, readText } from "./log-event.ts";

interface Spending {
  readonly name: string;
  readonly usd: number;
  /** Calls of a model that led to it. */
  readonly calls: number;
}

/** The dearest first. */
interface SpendingOf {
  readonly tools: readonly Spending[];
  /** Files that were read or changed. */
  readonly files: readonly Spending[];
}

/** What a call led to when no tool followed it. */
const WORDS = "words";

/** Agents name files from the root, changes are told from the workspace. */
const toPath = (path: string): string => path.replace(/^\/workspace\//, "");

class Shares {
  private readonly sums = new Map<string, { usd: number; calls: number }>();

  /** What led to several things counts for each with its part. */
  add(names: ReadonlySet<string>, usd: number): void {
    for (const name of names) {
      const sum = this.sums.get(name) ?? { usd: 0, calls: 0 };
      this.sums.set(name, { usd: sum.usd + usd / names.size, calls: sum.calls + 1 });
    }
  }

  list(): readonly Spending[] {
    return [...this.sums].map(([name, sum]) => ({ name, ...sum })).toSorted((one, other) => other.usd - one.usd);
  }
}

export function toSpending(events: readonly LogEvent[]): SpendingOf {
  const [tools, files] = [new Shares(), new Shares()];
  let usd: number | undefined;
  let led = { tools: new Set<string>(), files: new Set<string>() };
  const settle = () => {
    if (usd !== undefined) {
      tools.add(led.tools.size === 0 ? new Set([WORDS]) : led.tools, usd);
      files.add(led.files, usd);
    }
    led = { tools: new Set(), files: new Set() };
  };
  for (const { event_type: type, event_data: data } of events) {
    if (type === "agent.usage") {
      settle();
      usd = readNumber(data, "cost_usd") ?? 0;
    } else if (type === "agent.tool_use") {
      led.tools.add(readText(data, "tool", "tool_name") ?? "a tool");
      const path = readText(readRecord(data, "input", "tool_input"), "file_path", "notebook_path");
      if (path !== null) led.files.add(toPath(path));
    } else if (type === "agent.file_edited") {
      const path = readText(data, "file_path", "path");
      if (path !== null) led.files.add(toPath(path));
    }
  }
  settle();
  return { tools: tools.list(), files: files.list() };
}
