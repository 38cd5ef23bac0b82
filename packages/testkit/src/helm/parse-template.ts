/** Reads the part of Go's templates that our chart keeps to; whatever else stands between braces is an error, never a guess. */

export type Operand =
  | { readonly kind: "literal"; readonly value: string | number }
  /** `.a.b` from the dot, `$x.a` from a variable; `$` alone is the variable without a name. */
  | { readonly kind: "path"; readonly from: "." | `$${string}`; readonly fields: readonly string[] };

export interface Command {
  /** Undefined: the one argument itself. */
  readonly call: string | undefined;
  readonly args: readonly Operand[];
}

export type Pipeline = readonly Command[];

export type Node =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "print"; readonly pipeline: Pipeline }
  | {
      readonly kind: "if";
      readonly pipeline: Pipeline;
      readonly body: readonly Node[];
      readonly otherwise: readonly Node[];
    }
  | {
      readonly kind: "range";
      /** `$key, $value`, or none: then the dot is the item. */
      readonly names: readonly [string, string] | undefined;
      readonly pipeline: Pipeline;
      readonly body: readonly Node[];
    };

export interface Template {
  readonly body: readonly Node[];
  /** What `define` names. */
  readonly defined: ReadonlyMap<string, readonly Node[]>;
}

type Piece = { readonly text: string } | { readonly action: string };

const ACTION = /\{\{(-(?=\s))?([^]*?)((?<=\s)-)?\}\}/g;
const COMMENT = /^\s*\/\*[^]*\*\/\s*$/;

/** Text and actions in turn, with the white space gone that a dash takes away. */
function toPieces(source: string): readonly Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  let isTrimmed = false;
  const addText = (text: string, trimEnd: boolean) => {
    const begun = isTrimmed ? text.trimStart() : text;
    pieces.push({ text: trimEnd ? begun.trimEnd() : begun });
  };
  for (const found of source.matchAll(ACTION)) {
    const [whole, before, action = "", after] = found;
    addText(source.slice(from, found.index), before !== undefined);
    if (!COMMENT.test(action)) pieces.push({ action: action.trim() });
    isTrimmed = after !== undefined;
    from = found.index + whole.length;
  }
  addText(source.slice(from), false);
  const stray = pieces.find((piece) => "text" in piece && /\{\{|\}\}/.test(piece.text));
  if (stray !== undefined) throw new Error("braces of a template that are not closed or not opened");
  return pieces;
}

const TOKEN = /\s*(?:("(?:[^"\\]|\\["\\])*")|(\d+)(?![\w.])|([.$][\w.]*)|([a-zA-Z]\w*)|(\|))/y;

function parseOperand(text: string): Operand {
  const found = /^(\.|\$\w*)((?:\.?[a-zA-Z]\w*)(?:\.[a-zA-Z]\w*)*)?$/.exec(text);
  const [, from = "", fields = ""] = found ?? [];
  if (found === null || (from !== "." && fields !== "" && !fields.startsWith(".")))
    throw new Error(`${text} is no path`);
  return { kind: "path", from: from as "." | `$${string}`, fields: fields.split(".").filter((name) => name !== "") };
}

function parsePipeline(text: string): Pipeline {
  const commands: { call: string | undefined; args: Operand[] }[] = [{ call: undefined, args: [] }];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const at = TOKEN.lastIndex;
    const [whole, quoted, digits, path, word] = TOKEN.exec(text) ?? [];
    const command = commands.at(-1);
    if (whole === undefined || command === undefined) throw new Error(`not of our templates: ${text.slice(at)}`);
    if (quoted !== undefined) command.args.push({ kind: "literal", value: JSON.parse(quoted) as string });
    else if (digits !== undefined) command.args.push({ kind: "literal", value: Number(digits) });
    else if (path !== undefined) command.args.push(parseOperand(path));
    else if (word === undefined) commands.push({ call: undefined, args: [] });
    else if (command.call === undefined && command.args.length === 0) command.call = word;
    else throw new Error(`a function inside of a command: ${text}`);
  }
  for (const [index, { call, args }] of commands.entries())
    if (call === undefined && (args.length !== 1 || index > 0)) throw new Error(`no value and no function: ${text}`);
  return commands;
}

function parseRange(text: string): Pick<Node & { kind: "range" }, "names" | "pipeline"> {
  const [, key, value, rest] = /^(\$\w+),\s*(\$\w+)\s*:=\s*([^]+)$/.exec(text) ?? [];
  return key === undefined || value === undefined || rest === undefined
    ? { names: undefined, pipeline: parsePipeline(text) }
    : { names: [key, value], pipeline: parsePipeline(rest) };
}

export function parseTemplate(source: string): Template {
  const pieces = toPieces(source);
  const defined = new Map<string, readonly Node[]>();
  let next = 0;
  /** Up to its `else` or `end`, which is told; undefined at the end of the file. */
  const parseBody = (isTop: boolean): { readonly nodes: readonly Node[]; readonly ended: string | undefined } => {
    const nodes: Node[] = [];
    for (let piece = pieces[next++]; piece !== undefined; piece = pieces[next++]) {
      if ("text" in piece) {
        if (piece.text !== "") nodes.push({ kind: "text", text: piece.text });
        continue;
      }
      const [, word = "", rest = ""] = /^(\w*)\s*([^]*)$/.exec(piece.action) ?? [];
      if (word === "end" || word === "else") {
        if (rest !== "") throw new Error(`not of our templates: ${piece.action}`);
        return { nodes, ended: word };
      }
      if (word === "define") {
        const [, name] = /^"([\w.]+)"$/.exec(rest) ?? [];
        if (name === undefined || !isTop || defined.has(name)) throw new Error(`not of our templates: ${piece.action}`);
        defined.set(name, parseUntilEnd());
      } else if (word === "range") nodes.push({ kind: "range", ...parseRange(rest), body: parseUntilEnd() });
      else if (word === "if") {
        const pipeline = parsePipeline(rest);
        const begun = parseBody(false);
        nodes.push({
          kind: "if",
          pipeline,
          body: begun.nodes,
          otherwise: begun.ended === "else" ? parseUntilEnd() : requireEnd(begun),
        });
      } else nodes.push({ kind: "print", pipeline: parsePipeline(piece.action) });
    }
    return { nodes, ended: undefined };
  };
  const requireEnd = ({ ended }: { readonly ended: string | undefined }): readonly Node[] => {
    if (ended !== "end") throw new Error(`${ended ?? "the file's end"} where an end was to be`);
    return [];
  };
  const parseUntilEnd = (): readonly Node[] => {
    const body = parseBody(false);
    requireEnd(body);
    return body.nodes;
  };
  const { nodes, ended } = parseBody(true);
  if (ended !== undefined) throw new Error(`${ended} of nothing`);
  return { body: nodes, defined };
}
