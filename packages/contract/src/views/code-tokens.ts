/** Lines of code as words with a kind, for colour: a reader that knows what a language's words look like, not its grammar. */

export type CodeKind = "comment" | "string" | "number" | "keyword";

export interface CodePiece {
  /** Absent for everything else. */
  readonly kind?: CodeKind;
  readonly text: string;
}

export interface Language {
  /** Up to the end of the line. */
  readonly lineComments: readonly string[];
  /** From one mark to the other, over any number of lines: comments and long strings. */
  readonly spans: readonly { readonly from: string; readonly to: string; readonly kind: "comment" | "string" }[];
  /** Marks of a string that ends on its line. */
  readonly quotes: readonly string[];
  readonly keywords: ReadonlySet<string>;
}

/** What a line begins within: the mark that ends it. */
export interface CodeState {
  readonly to: string;
  readonly kind: "comment" | "string";
}

const words = (text: string): ReadonlySet<string> => new Set(text.split(" "));
const block = (from: string, to: string) => ({ from, to, kind: "comment" as const });
const long = (mark: string) => ({ from: mark, to: mark, kind: "string" as const });

const C_WORDS =
  "abstract as assert async await bool boolean break case catch char class const constexpr continue debugger default defer delete do double else enum export extends extern false final finally float fn for fun func function go goto guard if impl implements import in inline instanceof int interface internal is let long loop map match mod module mut namespace new nil null nullptr object of override package private protected public pub range readonly ref return satisfies sealed select self short signed sizeof static struct super switch template this throw throws trait true try type typedef typeof undefined union unsafe unsigned use using val var virtual void volatile when where while with yield";
const SCRIPT_WORDS =
  "and as assert async await begin break case class continue def del do done elif else elsif end ensure esac except export False false fi finally for from function global if import in is lambda local match module next nil None nonlocal not null or pass raise rescue return self set source super then True true try unless until when while with yield";
const SQL_WORDS =
  "add all alter and as asc begin between by case check column commit constraint create cross database default delete desc distinct drop else end exists false foreign from full function grant group having if in index inner insert into is join key left like limit not null offset on or order outer primary references returning right rollback select set table then true union unique update using values view when where with";

const C_LIKE: Language = {
  lineComments: ["//"],
  spans: [block("/*", "*/"), long("`")],
  quotes: ['"', "'"],
  keywords: words(C_WORDS),
};
const RUST: Language = { ...C_LIKE, spans: [block("/*", "*/")], quotes: ['"'] };
const SCRIPT: Language = {
  lineComments: ["#"],
  spans: [long('"""'), long("'''")],
  quotes: ['"', "'"],
  keywords: words(SCRIPT_WORDS),
};
const DATA: Language = {
  lineComments: ["#"],
  spans: [],
  quotes: ['"', "'"],
  keywords: words("true false null yes no on off"),
};
const SQL: Language = {
  lineComments: ["--"],
  spans: [block("/*", "*/")],
  quotes: ["'", '"'],
  keywords: words(`${SQL_WORDS} ${SQL_WORDS.toUpperCase()}`),
};
const JSON_DATA: Language = {
  lineComments: ["//"],
  spans: [block("/*", "*/")],
  quotes: ['"'],
  keywords: words("true false null"),
};
const STYLE: Language = {
  lineComments: [],
  spans: [block("/*", "*/")],
  quotes: ['"', "'"],
  keywords: words("important inherit initial unset none auto media import supports layer from to and not only"),
};
const MARKUP: Language = {
  lineComments: [],
  spans: [block("<!--", "-->")],
  quotes: ['"'],
  keywords: words(""),
};
const LUA: Language = { ...SCRIPT, lineComments: ["--"], spans: [{ from: "[[", to: "]]", kind: "string" }] };

const BY_NAME: Readonly<Record<string, readonly [Language, string]>> = {
  c: [
    C_LIKE,
    "ts tsx mts cts js jsx mjs cjs java kt kts scala go c h cc cpp cxx hpp cs swift php dart zig proto groovy gradle javascript typescript golang kotlin",
  ],
  rust: [RUST, "rs rust"],
  script: [
    SCRIPT,
    "py pyi rb sh bash zsh fish pl r ex exs cr nim ps1 python ruby shell console dockerfile makefile mk cmake",
  ],
  data: [DATA, "yaml yml toml ini conf cfg env properties editorconfig gitignore dockerignore tf hcl"],
  sql: [SQL, "sql psql"],
  json: [JSON_DATA, "json jsonc json5 webmanifest"],
  style: [STYLE, "css scss less"],
  markup: [MARKUP, "html htm xml svg vue svelte"],
  lua: [LUA, "lua"],
};
const BY_EXTENSION: ReadonlyMap<string, Language> = new Map(
  Object.values(BY_NAME).flatMap(([language, names]) => names.split(" ").map((name) => [name, language] as const)),
);

/** By the name of a file, or of a language as fences of markdown have it; undefined where nothing is known of it. */
export function toLanguage(path: string): Language | undefined {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  return BY_EXTENSION.get(name.slice(name.lastIndexOf(".") + 1));
}

/** Nobody reads a longer line, and minified code is no code. */
const LINE_LIMIT = 2_000;
const WORD = /[\p{L}_$][\p{L}\p{N}_$]*/uy;
const NUMBER = /\d[\w.]*/y;
/** Letters that say what kind of string follows. */
const PREFIX = /^[bflru]{1,2}$/i;

const startsAny = (line: string, at: number, marks: readonly string[]): boolean =>
  marks.some((mark) => line.startsWith(mark, at));

/** Behind the mark that ends what is open at `from`; -1 when it goes on. In a string a mark may be escaped. */
function findEnd(line: string, from: number, { to, kind }: CodeState): number {
  for (let at = from; at < line.length; at += 1) {
    if (kind === "string" && line[at] === "\\") at += 1;
    else if (line.startsWith(to, at)) return at + to.length;
  }
  return -1;
}

function match(pattern: RegExp, line: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(line)?.[0];
}

/** The pieces of a line put together are the line. `state` is what the line before ended within. */
export function readCodeLine(
  line: string,
  language: Language,
  state: CodeState | undefined,
): { readonly pieces: readonly CodePiece[]; readonly state: CodeState | undefined } {
  if (line.length > LINE_LIMIT) return { pieces: [{ text: line }], state };
  const pieces: CodePiece[] = [];
  let plainFrom = 0;
  let at = 0;
  let within = state;
  const take = (end: number, kind: CodeKind) => {
    if (at > plainFrom) pieces.push({ text: line.slice(plainFrom, at) });
    if (end > at) pieces.push({ kind, text: line.slice(at, end) });
    at = end;
    plainFrom = end;
  };
  const takeWithin = (open: CodeState, from: number) => {
    const end = findEnd(line, from, open);
    take(end === -1 ? line.length : end, open.kind);
    within = end === -1 ? open : undefined;
  };
  if (within !== undefined) takeWithin(within, 0);
  while (at < line.length) {
    const span = language.spans.find(({ from }) => line.startsWith(from, at));
    const quote = language.quotes.find((mark) => line[at] === mark);
    if (span !== undefined) takeWithin(span, at + span.from.length);
    else if (startsAny(line, at, language.lineComments)) take(line.length, "comment");
    else if (quote !== undefined) {
      const end = findEnd(line, at + 1, { to: quote, kind: "string" });
      take(end === -1 ? line.length : end, "string");
    } else {
      const word = match(WORD, line, at);
      const number = word === undefined ? match(NUMBER, line, at) : undefined;
      if (word !== undefined && language.keywords.has(word)) take(at + word.length, "keyword");
      else if (number !== undefined) take(at + number.length, "number");
      // An apostrophe behind a word begins no string.
      else if (word !== undefined) at += word.length + Number(line[at + word.length] === "'" && !PREFIX.test(word));
      else at += 1;
    }
  }
  if (line.length > plainFrom) pieces.push({ text: line.slice(plainFrom) });
  return { pieces, state: within };
}
