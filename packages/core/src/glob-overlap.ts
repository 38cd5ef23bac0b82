/** Whether two path patterns can match the same path: as automata, walked together. It never says no where the answer is yes.
 *
 *  `*` and `?` stop at slashes, `**` does not, `[a-z]` and `[!a-z]` are one character, `{a,b}` is a choice, and a pattern that
 *  ends with a slash means everything below. A bracket or brace that is never closed is a character like any other. */

/** Characters by code, as ranges; negated: all others. */
interface CharacterSet {
  readonly isNegated: boolean;
  readonly ranges: readonly (readonly [number, number])[];
}

interface State {
  /** States that are reached without a character. */
  readonly free: State[];
  readonly steps: { readonly on: CharacterSet; readonly to: State }[];
}

const SLASH = "/".charCodeAt(0);
const ANY: CharacterSet = { isNegated: true, ranges: [] };
const NOT_SLASH: CharacterSet = { isNegated: true, ranges: [[SLASH, SLASH]] };

const createState = (): State => ({ free: [], steps: [] });
const toLiteral = (code: number): CharacterSet => ({ isNegated: false, ranges: [[code, code]] });

const has = (set: CharacterSet, code: number): boolean =>
  set.ranges.some(([low, high]) => low <= code && code <= high) !== set.isNegated;

const FAVOURITES = ["a", "1", "x", "_"].map((one) => one.charCodeAt(0));

/** A character of both sets. Wherever both hold over a stretch, that stretch begins at an edge of one of them, or at 1. */
function pickBoth(a: CharacterSet, b: CharacterSet): number | undefined {
  const edges = [...a.ranges, ...b.ranges].flatMap(([low, high]) => [low, high, high + 1]);
  return [...FAVOURITES, ...edges, 1].find((code) => code > 0 && has(a, code) && has(b, code));
}

interface Reading {
  readonly text: string;
  at: number;
}

/** `[...]` from its bracket on; undefined when it is never closed. */
function readSet(reading: Reading): CharacterSet | undefined {
  const end = reading.text.indexOf("]", reading.at + (/^\[[!^]?\]/.test(reading.text.slice(reading.at)) ? 3 : 1));
  if (end === -1) return undefined;
  const inside = reading.text.slice(reading.at + 1, end);
  const isNegated = inside.startsWith("!") || inside.startsWith("^");
  const body = isNegated ? inside.slice(1) : inside;
  const ranges: [number, number][] = [];
  for (let i = 0; i < body.length; i += 1) {
    const low = body.charCodeAt(i);
    if (body[i + 1] === "-" && i + 2 < body.length) {
      ranges.push([low, body.charCodeAt(i + 2)]);
      i += 2;
    } else ranges.push([low, low]);
  }
  reading.at = end + 1;
  // A set never crosses directories.
  return isNegated ? { isNegated, ranges: [...ranges, [SLASH, SLASH]] } : { isNegated, ranges };
}

/** The end of a brace that opens at `at`, or -1. */
function findBraceEnd(text: string, at: number): number {
  let depth = 0;
  for (let i = at; i < text.length; i += 1) {
    if (text[i] === "{") depth += 1;
    else if (text[i] === "}" && (depth -= 1) === 0) return i;
  }
  return -1;
}

function splitChoices(body: string): readonly string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let i = 0; i <= body.length; i += 1) {
    if (body[i] === "{") depth += 1;
    else if (body[i] === "}") depth -= 1;
    else if (i === body.length || (body[i] === "," && depth === 0)) {
      parts.push(body.slice(start, i));
      start = i + 1;
    }
  }
  return parts;
}

function repeat(from: State, on: CharacterSet): State {
  const loop = createState();
  from.free.push(loop);
  loop.steps.push({ on, to: loop });
  return loop;
}

function step(from: State, on: CharacterSet): State {
  const to = createState();
  from.steps.push({ on, to });
  return to;
}

/** `**` and, at the start of a part, the slash behind it, which goes with it: `a/**` + `/b` also is `a/b`. */
function addGlobstar(from: State, reading: Reading): State {
  const isPart = reading.at === 0 || reading.text[reading.at - 1] === "/";
  while (reading.text[reading.at] === "*") reading.at += 1;
  if (!isPart || reading.text[reading.at] !== "/") return repeat(from, ANY);
  reading.at += 1;
  const to = step(repeat(from, ANY), toLiteral(SLASH));
  from.free.push(to);
  return to;
}

function addChoices(from: State, body: string): State {
  const to = createState();
  for (const choice of splitChoices(body)) {
    const start = createState();
    from.free.push(start);
    addPattern(start, choice).free.push(to);
  }
  return to;
}

function addPattern(start: State, text: string): State {
  const reading: Reading = { text, at: 0 };
  let state = start;
  while (reading.at < text.length) {
    const character = text[reading.at];
    if (character === "*" && text[reading.at + 1] === "*") state = addGlobstar(state, reading);
    else if (character === "*") {
      reading.at += 1;
      state = repeat(state, NOT_SLASH);
    } else if (character === "?") {
      reading.at += 1;
      state = step(state, NOT_SLASH);
    } else {
      const set = character === "[" ? readSet(reading) : undefined;
      const end = character === "{" ? findBraceEnd(text, reading.at) : -1;
      if (set !== undefined) state = step(state, set);
      else if (end !== -1) {
        state = addChoices(state, text.slice(reading.at + 1, end));
        reading.at = end + 1;
      } else {
        state = step(state, toLiteral(text.charCodeAt(reading.at)));
        reading.at += 1;
      }
    }
  }
  return state;
}

interface Automaton {
  readonly start: State;
  readonly end: State;
  /** What every match begins with. */
  readonly prefix: string;
}

const known = new Map<string, Automaton>();
const KNOWN_LIMIT = 2_000;

function toAutomaton(glob: string): Automaton {
  const found = known.get(glob);
  if (found !== undefined) return found;
  const stripped = glob.replace(/^(?:\.?\/)+/, "");
  const text = stripped === "" || stripped.endsWith("/") ? `${stripped}**` : stripped;
  const start = createState();
  const automaton = { start, end: addPattern(start, text), prefix: /^[^*?[{]*/.exec(text)?.[0] ?? "" };
  if (known.size >= KNOWN_LIMIT) known.clear();
  known.set(glob, automaton);
  return automaton;
}

/** A path that both patterns match; undefined when there is none. */
export function findCommonPath(one: string, other: string): string | undefined {
  const [a, b] = [toAutomaton(one), toAutomaton(other)];
  if (!a.prefix.startsWith(b.prefix) && !b.prefix.startsWith(a.prefix)) return undefined;
  // Apart, because the empty text is no path: where it leads must still be reached by a longer one.
  const seenEmpty = new Map<State, Set<State>>();
  const seenLonger = new Map<State, Set<State>>();
  const open: { readonly a: State; readonly b: State; readonly path: string }[] = [];
  const visit = (left: State, right: State, path: string) => {
    const seen = path === "" ? seenEmpty : seenLonger;
    const partners = seen.get(left) ?? new Set();
    if (partners.has(right)) return;
    seen.set(left, partners.add(right));
    open.push({ a: left, b: right, path });
  };
  visit(a.start, b.start, "");
  // Breadth first, so that the example is a short one.
  for (const pair of open) {
    if (pair.a === a.end && pair.b === b.end && pair.path !== "") return pair.path;
    for (const next of pair.a.free) visit(next, pair.b, pair.path);
    for (const next of pair.b.free) visit(pair.a, next, pair.path);
    for (const left of pair.a.steps) {
      for (const right of pair.b.steps) {
        const code = pickBoth(left.on, right.on);
        if (code !== undefined) visit(left.to, right.to, pair.path + String.fromCharCode(code));
      }
    }
  }
  return undefined;
}

export interface CommonPath {
  readonly patterns: readonly [string, string];
  readonly example: string;
}

/** The first two patterns, one of each list, that can match the same path. */
export function findOverlap(one: readonly string[], other: readonly string[]): CommonPath | undefined {
  for (const a of one) {
    for (const b of other) {
      const example = findCommonPath(a, b);
      if (example !== undefined) return { patterns: [a, b], example };
    }
  }
  return undefined;
}

export const mayOverlap = (one: readonly string[], other: readonly string[]): boolean =>
  findOverlap(one, other) !== undefined;
