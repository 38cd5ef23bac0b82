/** Whether a shell line runs a program, as opposed to naming it in a text, a file name or another program's name. */

/** What stands beyond is data: a line that long is a file being written. */
const LONGEST = 20_000;
const HEREDOC = /<<-?\s*['"]?(\w+)/;
const HANDED_TO_SHELL = /\s-l?c\s+(?:"([^"]*)"|'([^']*)')/g;
const QUOTED = /"(?:[^"\\]|\\.)*"|'[^']*'/g;
const BETWEEN = /&&|\|\||\$\(|[;|&\n(){}`]/;
/** What stands before a program's name without being it. */
const BEFORE = /^(?:(?:[A-Za-z_]\w*=\S*|sudo|time|env|nohup|exec|command|then|do|else|!)\s+)+/;
const PLACE = /^\/(?:[\w.-]+\/)+/;
const GIT_PLACE = /^git(?:\s+-[Cc]\s+\S+)+/;

/** Without texts that are handed over, which nobody runs. */
function dropHeredocs(line: string): string {
  const kept: string[] = [];
  let end: string | undefined;
  for (const one of line.slice(0, LONGEST).split("\n")) {
    if (end === undefined) {
      kept.push(one);
      end = HEREDOC.exec(one)?.[1];
    } else if (one.trim() === end) end = undefined;
  }
  return kept.join("\n");
}

const listRun = (line: string): readonly (readonly string[])[] =>
  dropHeredocs(line)
    .replaceAll(HANDED_TO_SHELL, (_, double?: string, single?: string) => `; ${double ?? single ?? ""};`)
    .replaceAll(QUOTED, '""')
    .split(BETWEEN)
    .map((part) => part.trim().replace(BEFORE, "").replace(PLACE, "").replace(GIT_PLACE, "git").split(/\s+/));

/** Its words first, then its flags, wherever they stand: a flag by itself is meant with any program. */
export function isRun(line: string, named: string): boolean {
  const wanted = named.trim().split(/\s+/);
  const firstFlag = wanted.findIndex((word) => word.startsWith("-"));
  const head = firstFlag === -1 ? wanted : wanted.slice(0, firstFlag);
  const rest = wanted.slice(head.length);
  return listRun(line).some(
    (words) => head.every((word, index) => words[index] === word) && rest.every((word) => words.includes(word)),
  );
}

/** First words of lines that only pass the time, or look at what goes on elsewhere. */
const WAITS = [
  "sleep",
  "wait",
  "until",
  "while",
  "watch",
  "tail -f",
  "gh run watch",
  "gh pr checks",
  "kubectl rollout status",
  "kubectl wait",
];

export function isWait(line: string): boolean {
  const [first = []] = listRun(line).filter(([word]) => word !== "");
  return WAITS.some((wait) => wait.split(" ").every((word, index) => first[index] === word));
}
