/**
 * Renders our Helm chart as Helm would, as far as its templates go: values, `if` and `else`, `range`, `include`, `default`, `quote`, `toYaml`
 * and `nindent`. Stricter than Helm: a value that is not there, one that is null, and one that is no text where text is printed are errors.
 */
import { parse, stringify } from "yaml";
import { parseTemplate, type Node, type Operand, type Pipeline } from "./parse-template.ts";

type Fields = Readonly<Record<string, unknown>>;

export interface Chart {
  /** `Chart.yaml` */
  readonly metadata: string;
  /** `values.yaml` */
  readonly values: string;
  /** By file name; those that begin with `_` hold definitions only. */
  readonly templates: Readonly<Record<string, string>>;
}

export interface Release {
  readonly name: string;
  readonly namespace: string;
}

interface Scope {
  readonly dot: unknown;
  readonly variables: ReadonlyMap<string, unknown>;
  readonly defined: ReadonlyMap<string, readonly Node[]>;
}

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Maps are merged, everything else is replaced. A null, by which Helm removes a value, is refused. */
export function mergeValues(given: unknown, over: unknown): unknown {
  if (over === null) throw new Error("a value is null");
  if (!isFields(given) || !isFields(over)) return over;
  const merged = Object.entries(over).map(([name, value]) => [name, mergeValues(given[name], value)]);
  return { ...given, ...Object.fromEntries(merged) };
}

/** What Go's templates call empty. */
const isEmpty = (value: unknown): boolean =>
  value === false ||
  value === 0 ||
  value === "" ||
  (Array.isArray(value) && value.length === 0) ||
  (isFields(value) && Object.keys(value).length === 0);

function toText(value: unknown): string {
  if (typeof value === "string" || typeof value === "boolean") return String(value);
  // Helm reads numbers as floats and prints large ones with an exponent.
  if (typeof value === "number" && Number.isInteger(value) && Math.abs(value) < 1_000_000) return String(value);
  throw new Error(`not to be printed as text: ${JSON.stringify(value)}`);
}

function quote(value: unknown): string {
  const text = toText(value);
  if (/[^\x20-\x7e\n\t]/.test(text)) throw new Error(`Go might quote it in another way: ${JSON.stringify(text)}`);
  return JSON.stringify(text);
}

const toYaml = (value: unknown): string =>
  stringify(value, { sortMapEntries: true, lineWidth: 0, version: "1.1" }).trimEnd();

const nindent = (width: unknown, text: unknown): string => {
  if (typeof width !== "number") throw new Error("nindent wants a number");
  return `\n${toText(text)}`.replaceAll("\n", `\n${" ".repeat(width)}`);
};

const CALLS: Readonly<Record<string, (args: readonly unknown[], scope: Scope) => unknown>> = {
  quote: ([value]) => quote(value),
  toYaml: ([value]) => toYaml(value),
  nindent: ([width, text]) => nindent(width, text),
  default: ([otherwise, value]) => (isEmpty(value) ? otherwise : value),
  include: ([name, dot], scope) => {
    const body = scope.defined.get(toText(name));
    if (body === undefined) throw new Error(`nothing is defined as ${toText(name)}`);
    return renderNodes(body, { ...scope, dot, variables: new Map([["$", dot]]) });
  },
};
const TAKES: Readonly<Record<string, number>> = { quote: 1, toYaml: 1, nindent: 2, default: 2, include: 2 };

function readOperand(operand: Operand, { dot, variables }: Scope): unknown {
  if (operand.kind === "literal") return operand.value;
  if (operand.from !== "." && !variables.has(operand.from)) throw new Error(`there is no ${operand.from}`);
  let value = operand.from === "." ? dot : variables.get(operand.from);
  for (const name of operand.fields) {
    if (!isFields(value) || !Object.hasOwn(value, name) || value[name] === null)
      throw new Error(`there is no ${name} of ${operand.from}${operand.fields.join(".")}`);
    value = value[name];
  }
  return value;
}

function evaluate(pipeline: Pipeline, scope: Scope): unknown {
  let piped: readonly unknown[] = [];
  for (const { call, args } of pipeline) {
    const given = [...args.map((operand) => readOperand(operand, scope)), ...piped];
    if (call === undefined) piped = given;
    else {
      const apply = Object.hasOwn(CALLS, call) ? CALLS[call] : undefined;
      if (apply === undefined) throw new Error(`not of our templates: ${call}`);
      if (given.length !== TAKES[call]) throw new Error(`${call} takes ${TAKES[call]}, not ${given.length}`);
      piped = [apply(given, scope)];
    }
  }
  return piped[0];
}

function listItems(value: unknown): readonly (readonly [unknown, unknown])[] {
  if (Array.isArray(value)) return value.map((item, index) => [index, item]);
  if (isFields(value)) return Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  throw new Error("a range over something else than a list or a map");
}

function renderNode(node: Node, scope: Scope): string {
  if (node.kind === "text") return node.text;
  const value = evaluate(node.pipeline, scope);
  if (node.kind === "print") return toText(value);
  if (node.kind === "if") return renderNodes(isEmpty(value) ? node.otherwise : node.body, scope);
  const { names, body } = node;
  return listItems(value)
    .map(([key, item]) => {
      const added = names === undefined ? [] : [[names[0], key] as const, [names[1], item] as const];
      return renderNodes(body, { ...scope, dot: item, variables: new Map([...scope.variables, ...added]) });
    })
    .join("");
}

const renderNodes = (nodes: readonly Node[], scope: Scope): string =>
  nodes.map((node) => renderNode(node, scope)).join("");

/** What each template becomes, by its name, with the chart's values and those over them. */
export function renderChart(chart: Chart, release: Release, over: Fields = {}): ReadonlyMap<string, string> {
  const { name, version, appVersion } = parse(chart.metadata) as Record<string, unknown>;
  const root = {
    Values: mergeValues(parse(chart.values), over),
    Release: { Name: release.name, Namespace: release.namespace, Service: "Helm" },
    Chart: { Name: name, Version: version, AppVersion: appVersion },
  };
  const parsed = Object.entries(chart.templates).map(([file, text]) => {
    try {
      return [file, parseTemplate(text)] as const;
    } catch (cause) {
      throw new Error(`${file}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    }
  });
  const defined = new Map(parsed.flatMap(([, template]) => [...template.defined]));
  const scope: Scope = { dot: root, variables: new Map([["$", root]]), defined };
  return new Map(
    parsed
      .filter(([file]) => !file.startsWith("_"))
      .map(([file, template]) => [file, renderNodes(template.body, scope)]),
  );
}
