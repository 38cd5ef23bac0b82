/** What a person forbade in so many words, read by rule: paths not to touch, commands not to run, the only paths to touch. */

export interface Constraints {
  readonly forbiddenPaths: readonly string[];
  readonly onlyPaths: readonly string[];
  readonly forbiddenCommands: readonly string[];
}

const LIMIT = 10;
/** Of whom it is said: what users must not do forbids the agent nothing. */
const NOT = String.raw`(?<!\b(?:users?|people|customers?|visitors?|clients?|they|it) )(?:do not|don't|dont|never|must not|mustn't|may not|should not|shouldn't|avoid|under no circumstances|on no account)`;
const TOUCH = String.raw`(?:touch(?:ing)?|edit(?:ing)?|modify(?:ing)?|chang(?:e|ing)|delet(?:e|ing)|remov(?:e|ing)|writ(?:e|ing) to|rewrit(?:e|ing))`;
const RUN = String.raw`(?:run(?:ning)?|execut(?:e|ing)|us(?:e|ing)|call(?:ing)?|invok(?:e|ing))`;
/** A path: quoted, or with a slash, a dot that is followed by letters, or a star in it. */
const ONE_PATH = String.raw`(?:[\w@.*-]+\/)+[\w@.*{}-]*(?:,[\w@.*{}-]+)*|[\w@*-]+\.[A-Za-z][\w*]*`;
const LEAD = String.raw`(?:the |any |files? |folders? |directory |director(?:y|ies) |anything |in |under |inside )*`;
const MORE = String.raw`(?:, and |, or |, | and | or | nor )`;
/** One, and whatever else is named in the same breath. */
const PATH = String.raw`${LEAD}[\`'"]?(${ONE_PATH})[\`'"]?((?:${MORE}${LEAD}[\`'"]?(?:${ONE_PATH})[\`'"]?)*)`;
/** Only what is quoted is a command: words of a sentence are not. */
const COMMAND = String.raw`[\`'"]([^\`'"\n]{2,80})[\`'"]((?:${MORE}[\`'"][^\`'"\n]{2,80}[\`'"])*)`;

const CHANGED = String.raw`(?:touched|edited|modified|changed|deleted|removed|rewritten)`;
const CHANGES = String.raw`(?:your |all |any )*(?:changes?|edits?|work|yourself)`;

/** What comes after the thing itself. */
const IS_FORBIDDEN = String.raw`(?:is|are) (?:strictly )?(?:forbidden|prohibited|banned|not allowed|not permitted)`;

const FORBIDDEN_PATHS: readonly RegExp[] = [
  new RegExp(`${NOT} (?:ever )?${TOUCH} ${PATH}`, "gi"),
  new RegExp(String.raw`(?:leave|keep) ${PATH} (?:alone|as it is|as they are|untouched|unchanged)`, "gi"),
  new RegExp(String.raw`(?:stay|keep) (?:away from|out of|off) ${PATH}`, "gi"),
  new RegExp(String.raw`(?:hands off|no changes to) ${PATH}`, "gi"),
  new RegExp(String.raw`${PATH} (?:is|are) (?:off[ -]limits|read-only|not to be ${CHANGED})`, "gi"),
  new RegExp(String.raw`(?:touching|editing|modifying|changing|deleting|removing) ${PATH} ${IS_FORBIDDEN}`, "gi"),
  new RegExp(String.raw`${PATH} (?:must not|mustn't|may not|should not|shouldn't|cannot|can't) be ${CHANGED}`, "gi"),
];
const ONLY_PATHS: readonly RegExp[] = [
  new RegExp(String.raw`(?:only ${TOUCH}|${TOUCH} only|changes? only|edits? only) ${PATH}`, "gi"),
  new RegExp(String.raw`(?:limit|restrict|confine) ${CHANGES} to ${PATH}`, "gi"),
  new RegExp(
    String.raw`${CHANGES} (?:must |should |have to )?(?:stay|remain|be) (?:within|inside|in|limited to|confined to) ${PATH}`,
    "gi",
  ),
  new RegExp(
    String.raw`${NOT} (?:ever )?${TOUCH} (?:anything|files?|code) (?:outside|other than|except) (?:of )?${PATH}`,
    "gi",
  ),
  new RegExp(String.raw`stay (?:within|inside) ${PATH}`, "gi"),
  new RegExp(String.raw`work (?:only|exclusively|solely) (?:on |within )?${PATH}`, "gi"),
];
/** Unquoted, a command ends with its sentence. */
const FORBIDDEN_COMMANDS: readonly RegExp[] = [
  new RegExp(`${NOT} (?:ever )?${RUN} ${COMMAND}`, "gi"),
  new RegExp(String.raw`(?:running|executing|using|calling) ${COMMAND} ${IS_FORBIDDEN}`, "gi"),
  new RegExp(String.raw`(?:running|executing) ([a-z][\w./-]*(?: [\w./:@=-]+){0,4}?) ${IS_FORBIDDEN}`, "gi"),
  new RegExp(
    String.raw`${NOT} (?:ever )?(?:run|execute) ([a-z][\w./-]*(?: [\w./:@=-]+){0,4})(?=[.,;:!?)]|\s*$)`,
    "gim",
  ),
];
const PUSH = new RegExp(
  `${NOT} (?:ever )?(?:commit (?:and|or|nor) )?((?:git )?push)\\b(?! (?:directly |straight )?(?:on)?to (?!origin|the remote|github|upstream))`,
  "gi",
);

/** Said with a condition, which nobody can measure. */
const CONDITION = /^(?:(?!\band\b)[^\n;!?]){0,30}?\b(?:unless|until|without|except|before|if)\b/i;
/** More is allowed than is named by a path. */
const AND_KIND =
  /^,? (?:and|or|plus|&) (?:(?:its|the|their|any|all|related|matching|new|a) )*(?:[a-z]+ )?(?:tests?|specs?|docs|documentation|change ?log|fixtures?|snapshots?|types|readme)\b/i;

const MEMBER = new RegExp(`${ONE_PATH}`, "g");
const QUOTED_MEMBER = /[`'"]([^`'"\n]{2,80})[`'"]/g;

/** From the last letter of what was found, which may be the full stop. */
const cutSentence = (rest: string): string =>
  rest
    .slice(0, 100)
    .split(/[.!?;](?:\s|$)|\n/, 1)[0]
    ?.slice(1) ?? "";

const listMembers = (more: string): readonly string[] => {
  const quoted = [...more.matchAll(QUOTED_MEMBER)].flatMap(([, one]) => one ?? []);
  return [...quoted, ...(more.replaceAll(QUOTED_MEMBER, " ").match(MEMBER) ?? [])];
};

const listFound = (patterns: readonly RegExp[], text: string, unless: RegExp = CONDITION): readonly string[] => [
  ...new Set(
    patterns.flatMap((pattern) =>
      [...text.matchAll(pattern)]
        .filter(({ 0: whole, index }) => !unless.test(cutSentence(text.slice(index + whole.length - 1))))
        .flatMap(([, found, more]) => (found === undefined ? [] : [found, ...listMembers(more ?? "")]))
        .map((one) => one.replace(/[.,;:]+$/, "")),
    ),
  ),
];

const NEVER = /(?!)/;
/** Asked for beside what it is confined to. */
const WANTED = new RegExp(
  String.raw`(?:^|[.;!?\n] *|\band )(?:please |also |then )*(?:add|create|write|put|update|extend|document|save|record)\b[^.;!?\n]{0,60}? ${PATH}`,
  "gi",
);
/** A later word may lift an earlier one: what it names is struck out. */
const LIFTED = new RegExp(String.raw`(?:you (?:can|may) now ${TOUCH}|it is fine to ${TOUCH}) ${PATH}`, "gi");

export function parseConstraints(texts: readonly string[]): Constraints {
  const all = texts.join("\n").slice(0, 200_000);
  const lifted = new Set(listFound([LIFTED], all, NEVER));
  const only = listFound(ONLY_PATHS, all, AND_KIND);
  return {
    forbiddenPaths: listFound(FORBIDDEN_PATHS, all)
      .filter((path) => !lifted.has(path))
      .slice(0, LIMIT),
    onlyPaths: only.length === 0 ? [] : [...new Set([...only, ...listFound([WANTED], all, NEVER)])].slice(0, LIMIT),
    forbiddenCommands: [
      ...listFound(FORBIDDEN_COMMANDS, all),
      ...(listFound([PUSH], all).length > 0 ? ["git push"] : []),
    ].slice(0, LIMIT),
  };
}
