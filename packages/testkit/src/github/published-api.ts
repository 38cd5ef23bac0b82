/** GitHub's published description of the operations that Drover uses, and whether a request or an answer fits it. */
import published from "./published-operations.json" with { type: "json" };

interface Schema {
  readonly type?: string;
  readonly nullable?: boolean;
  readonly enum?: readonly unknown[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly query: readonly string[];
  readonly body: Schema | null;
  readonly status: number;
  readonly answer: Schema | null;
}

const OPERATIONS = published.operations as unknown as readonly Operation[];

const isType = (value: unknown, type: string): boolean => {
  if (type === "integer") return Number.isInteger(value);
  if (type === "array") return Array.isArray(value);
  if (type === "object") return typeof value === "object" && value !== null && !Array.isArray(value);
  return typeof value === type;
};

/** One sentence per place where a value is not as its schema says. `isWhole`: what is required must be there. */
function complain(value: unknown, schema: Schema, path: string, isWhole: boolean): readonly string[] {
  if (value === null && (schema.nullable === true || schema.type === undefined)) return [];
  if (schema.type !== undefined && !isType(value, schema.type)) return [`${path} is not of type ${schema.type}`];
  if (schema.enum !== undefined && !schema.enum.includes(value))
    return [`${path} is none of ${schema.enum.join(", ")}`];
  const { items, properties } = schema;
  if (Array.isArray(value))
    return items === undefined ? [] : value.flatMap((one, at) => complain(one, items, `${path}[${at}]`, isWhole));
  if (properties === undefined || typeof value !== "object" || value === null) return [];
  const missing = isWhole ? (schema.required ?? []).filter((name) => !Object.hasOwn(value, name)) : [];
  return [
    ...missing.map((name) => `${path}.${name} is missing`),
    ...Object.entries(value).flatMap(([name, inner]) => {
      const known = properties[name];
      return known === undefined
        ? [`${path}.${name} is not known`]
        : complain(inner, known, `${path}.${name}`, isWhole);
    }),
  ];
}

const toPattern = (path: string) => new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`);

/** `path` still encoded, so that a slash in a branch's name is none of the path. */
const findOperation = (method: string, path: string): Operation | undefined =>
  OPERATIONS.find((one) => one.method === method && toPattern(one.path).test(path));

export function complainOfRequest(
  method: string,
  path: string,
  query: URLSearchParams,
  body: unknown,
): readonly string[] {
  const operation = findOperation(method, path);
  if (operation === undefined) return [`${method} ${path} is no operation that is published`];
  return [
    ...[...query.keys()]
      .filter((name) => !operation.query.includes(name))
      .map((name) => `${method} ${path} takes no ${name}`),
    ...(operation.body === null || body === undefined ? [] : complain(body, operation.body, `${method} ${path}`, true)),
  ];
}

/** The server tells less than GitHub does; what it tells is as published. */
export function complainOfAnswer(method: string, path: string, status: number, body: unknown): readonly string[] {
  const operation = findOperation(method, path);
  if (operation === undefined || operation.answer === null || status !== operation.status) return [];
  return complain(body, operation.answer, `the answer to ${method} ${path}`, false);
}
