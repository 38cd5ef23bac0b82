/**
 * What the packages of Daytona's SDK say about its HTTP interface. They are generated from Daytona's OpenAPI documents and ship no
 * document, but all that is in it: `api/*.js` holds method, path and query names of each operation, `api/*.d.ts` the types of body
 * and answer, `models/*.d.ts` these types. Every request and answer that passes the emulator is checked against it: the operation
 * exists, no query name is unknown, and in bodies no field is unknown, missing, or of another type.
 *
 * Not published, and so checked only by the SDK understanding it: multipart bodies, WebSocket frames, and errors of the control
 * interface (the toolbox's errors are published).
 */
import { globSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { parseSync } from "oxc-parser";
import { complainOfValue, readModels, toShape, type Shape, type Statement, type TypeNode } from "./published-shape.ts";

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly pattern: RegExp;
  readonly query: readonly string[];
  readonly body: Shape | undefined;
  readonly answer: Shape;
}

export interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** Parsed JSON; undefined when there was none. */
  readonly body: unknown;
}

export interface PublishedApi {
  complainOfRequest(exchange: Exchange): readonly string[];
  complainOfAnswer(exchange: Exchange, answer: unknown): readonly string[];
  complainOfError(error: unknown): readonly string[];
}

const parse = (file: string): readonly Statement[] => parseSync(file, readFileSync(file, "utf8")).program.body;

/** The inner type of `Promise<(…) => AxiosPromise<T>>`. */
function readAnswer(node: TypeNode): Shape {
  if (node.type === "TSFunctionType" && node.returnType !== null) return readAnswer(node.returnType.typeAnnotation);
  if (node.type !== "TSTypeReference" || node.typeName.type !== "Identifier") throw new Error(node.type);
  const [inner] = node.typeArguments?.params ?? [];
  if (inner === undefined) throw new Error("a promise of nothing");
  return node.typeName.name === "AxiosPromise" ? toShape(inner) : readAnswer(inner);
}

interface Signature {
  readonly parameters: ReadonlyMap<string, TypeNode>;
  readonly result: TypeNode;
}

/** The methods of `<Name>ApiFp`, by name. */
function readSignatures(statements: readonly Statement[]): ReadonlyMap<string, Signature> {
  const signatures = new Map<string, Signature>();
  for (const statement of statements) {
    const declaration = statement.type === "ExportNamedDeclaration" ? statement.declaration : null;
    const id = declaration?.type === "VariableDeclaration" ? declaration.declarations[0]?.id : undefined;
    if (id?.type !== "Identifier" || !id.name.endsWith("ApiFp")) continue;
    const made = id.typeAnnotation?.typeAnnotation;
    const type = made?.type === "TSFunctionType" ? made.returnType?.typeAnnotation : undefined;
    for (const member of type?.type === "TSTypeLiteral" ? type.members : []) {
      if (member.type !== "TSMethodSignature" || member.key.type !== "Identifier" || member.returnType === null)
        continue;
      const parameters = member.params.flatMap((parameter) =>
        parameter.type === "Identifier" && parameter.typeAnnotation
          ? [[parameter.name, parameter.typeAnnotation.typeAnnotation] as const]
          : [],
      );
      signatures.set(member.key.name, { parameters: new Map(parameters), result: member.returnType.typeAnnotation });
    }
  }
  return signatures;
}

/** Types of files and of values that no JSON has; operations that use them are not part of the emulator. */
const isJson = (node: TypeNode) =>
  !(node.type === "TSTypeReference" && node.typeName.type === "Identifier" && node.typeName.name === "File");

function readOperations(file: string): readonly Operation[] {
  const signatures = readSignatures(parse(file.replace(/\.js$/, ".d.ts")));
  const text = readFileSync(file, "utf8");
  const [, creators = ""] = /ApiAxiosParamCreator = function([\s\S]*?)\n\};/.exec(text) ?? [];
  return creators.split(/\n {8}(?=\w+: async \()/).flatMap((source): readonly Operation[] => {
    const name = /^(\w+): async/.exec(source)?.[1] ?? "";
    const path = /localVarPath = `([^`]+)`/.exec(source)?.[1];
    const method = /method: '([A-Z]+)'/.exec(source)?.[1];
    const signature = signatures.get(name);
    if (path === undefined || method === undefined || signature === undefined) return [];
    const body = signature.parameters.get(/serializeDataIfNeeded\)\((\w+),/.exec(source)?.[1] ?? "");
    if (body !== undefined && !isJson(body)) return [];
    return [
      {
        method,
        path,
        pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`),
        query: Array.from(source.matchAll(/localVarQueryParameter\['([^']+)'\]/g), ([, query = ""]) => query),
        body: body === undefined ? undefined : toShape(body),
        answer: name.startsWith("download") ? { kind: "any" } : readAnswer(signature.result),
      },
    ];
  });
}

/** More literal segments win: `/sandbox/paginated` over `/sandbox/{id}`. */
const countLiterals = ({ path }: Operation) => path.split("/").filter((segment) => !segment.startsWith("{")).length;

function openApi(source: string): PublishedApi {
  const models = new Map(globSync(join(source, "models/*.d.ts")).flatMap((file) => [...readModels(parse(file))]));
  const files = globSync(join(source, "api/*.js")).filter((file) => basename(file).endsWith("-api.js"));
  const operations = files.flatMap(readOperations).toSorted((a, b) => countLiterals(b) - countLiterals(a));
  if (operations.length < 30) throw new Error(`only ${operations.length} operations found in ${source}`);
  const find = ({ method, path }: Exchange) =>
    operations.find((operation) => operation.method === method && operation.pattern.test(path));
  return {
    complainOfRequest: (exchange) => {
      const what = `${exchange.method} ${exchange.path}`;
      const operation = find(exchange);
      if (operation === undefined) return [`${what} is no operation`];
      const unknown = [...exchange.query.keys()].filter((name) => !operation.query.includes(name));
      const body = operation.body;
      return [
        ...unknown.map((name) => `${what}?${name} is not known`),
        ...(body === undefined ? [] : complainOfValue(exchange.body, body, models, `the body of ${what}: body`)),
      ];
    },
    complainOfAnswer: (exchange, answer) => {
      const operation = find(exchange);
      if (operation === undefined || operation.answer.kind === "any") return [];
      const what = `the answer to ${exchange.method} ${exchange.path}: answer`;
      return complainOfValue(answer, operation.answer, models, what);
    },
    complainOfError: (error) =>
      complainOfValue(error, { kind: "named", name: "ErrorResponse" }, models, "an error of the toolbox: error"),
  };
}

/** Reading both takes a moment, so once per process. */
let published: { readonly control: PublishedApi; readonly toolbox: PublishedApi } | undefined;

export function readPublishedApis(): { readonly control: PublishedApi; readonly toolbox: PublishedApi } {
  const sdk = createRequire(createRequire(import.meta.url).resolve("@daytona/sdk"));
  const sourceOf = (name: string) => dirname(sdk.resolve(name));
  published ??= {
    control: openApi(sourceOf("@daytona/api-client")),
    toolbox: openApi(sourceOf("@daytona/toolbox-api-client")),
  };
  return published;
}
