/** What an agent is told to do: the task, its ticket, what came before, and what was wrong last time. */
import type { JsonObject } from "@drover/contract";

export interface PromptParts {
  readonly ticket: { readonly title: string; readonly description: string | null };
  readonly task: {
    readonly title: string;
    readonly description: string | null;
    readonly owned_files: readonly string[];
    readonly synthesis_context: JsonObject | null;
    readonly last_validation_feedback: string | null;
    readonly result: JsonObject | null;
  };
  readonly mode: "work" | "validation";
}

const LIMIT = 100_000;
const PART_LIMIT = 20_000;

const cut = (text: string): string => (text.length <= PART_LIMIT ? text : `${text.slice(0, PART_LIMIT)}\n[cut]`);
const section = (title: string, body: string | null): readonly string[] =>
  body === null || body.trim() === "" ? [] : [`## ${title}`, cut(body)];

const VERDICT = `Check the work of another agent on the task below: run the tests and the build, look at the changes, and judge whether the task is done.
Change nothing. End with one message whose last line is JSON, and nothing else on that line:
{"passed": true or false, "feedback": "what is wrong and what to do about it", "recommendations": ["..."]}`;

export function toTaskPrompt({ ticket, task, mode }: PromptParts): string {
  return [
    ...(mode === "validation" ? [VERDICT] : []),
    `# ${task.title}`,
    ...section("What to do", task.description),
    ...section("The ticket it belongs to", [ticket.title, ticket.description ?? ""].join("\n\n").trim()),
    ...section(
      "Files that are yours",
      task.owned_files.length === 0
        ? null
        : `Change nothing else:\n${task.owned_files.map((glob) => `- ${glob}`).join("\n")}`,
    ),
    ...section(
      "Results of the tasks before",
      task.synthesis_context === null ? null : JSON.stringify(task.synthesis_context, null, 1),
    ),
    ...section(
      mode === "validation" ? "What was said about the last version" : "A reviewer sent this back",
      task.last_validation_feedback,
    ),
    ...(mode === "validation" && task.result !== null
      ? section("What the agent reported", JSON.stringify(task.result, null, 1))
      : []),
  ]
    .join("\n\n")
    .slice(0, LIMIT);
}

export interface Review {
  readonly passed: boolean;
  readonly feedback: string;
  readonly recommendations: readonly string[];
}

/** The verdict in a validator's last words; undefined when there is none. */
export function parseVerdict(text: string): Review | undefined {
  for (const line of text.split("\n").toReversed()) {
    const start = line.indexOf("{");
    if (start === -1) continue;
    try {
      const value: unknown = JSON.parse(line.slice(start, line.lastIndexOf("}") + 1));
      if (typeof value !== "object" || value === null || !("passed" in value) || typeof value.passed !== "boolean")
        continue;
      const feedback = "feedback" in value && typeof value.feedback === "string" ? value.feedback : "";
      const list = "recommendations" in value && Array.isArray(value.recommendations) ? value.recommendations : [];
      return { passed: value.passed, feedback, recommendations: list.filter((one) => typeof one === "string") };
    } catch {
      // Expected: a line that only looks like JSON.
    }
  }
  return undefined;
}
