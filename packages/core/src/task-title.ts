/** A name for a task that nobody has named, made of what is to be done. */

const LIMIT = 80;

const toWords = (type: string): string => type.replaceAll(/[_-]+/g, " ").trim();

/** Without what only marks it up. */
const toPlain = (line: string): string =>
  line
    .replace(/^\s*(?:#+|[-*+>]|\d+[.)])\s+/, "")
    .replaceAll(/[`*]+/g, "")
    .replaceAll(/\s+/g, " ")
    .trim();

function cut(text: string): string {
  const [sentence = text] = /^.+?[.!?](?=\s|$)/.exec(text) ?? [];
  const short = sentence.replace(/[.:;,\s]+$/, "");
  if (short.length <= LIMIT) return short;
  const end = short.lastIndexOf(" ", LIMIT - 1);
  return `${short.slice(0, end > LIMIT / 2 ? end : LIMIT - 1).trimEnd()}…`;
}

const toCapital = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;

/** The first sentence of the description; of what is known besides, where there is none; else what kind of task it is. */
export function toTaskTitle(task: {
  readonly task_type: string;
  readonly description: string | null;
  readonly context?: string | undefined;
}): string {
  const lines = [task.description ?? "", task.context ?? ""].flatMap((text) => text.split("\n")).map(toPlain);
  const first = lines.find((line) => /[\p{L}\p{N}]/u.test(line));
  return toCapital(cut(first ?? toWords(task.task_type))) || "A task";
}
