/** Shapes of JSON as the type declarations of Daytona's API clients write them, and whether a value has one. */
import type { parseSync } from "oxc-parser";

export type Statement = ReturnType<typeof parseSync>["program"]["body"][number];
type Exported = Extract<Statement, { type: "ExportNamedDeclaration" }>["declaration"];
type Interface = Extract<Exported, { type: "TSInterfaceDeclaration" }>;
type Alias = Extract<Exported, { type: "TSTypeAliasDeclaration" }>;
export type TypeNode = Alias["typeAnnotation"];
type Member = Interface["body"]["body"][number];

export type Shape =
  | { readonly kind: "string" | "number" | "boolean" | "null" | "any" }
  | { readonly kind: "literal"; readonly value: unknown }
  | { readonly kind: "array"; readonly items: Shape }
  | { readonly kind: "map"; readonly values: Shape }
  | {
      readonly kind: "object";
      readonly fields: ReadonlyMap<string, { readonly shape: Shape; readonly isOptional: boolean }>;
    }
  | { readonly kind: "union"; readonly members: readonly Shape[] }
  | { readonly kind: "named"; readonly name: string };

const KEYWORDS: Readonly<Record<string, Shape>> = {
  TSStringKeyword: { kind: "string" },
  TSNumberKeyword: { kind: "number" },
  TSBooleanKeyword: { kind: "boolean" },
  TSNullKeyword: { kind: "null" },
  TSAnyKeyword: { kind: "any" },
  TSObjectKeyword: { kind: "any" },
  TSVoidKeyword: { kind: "any" },
};

/** A declaration that is not understood fails here: a check that silently allows everything would be none. */
function notUnderstood(what: string): never {
  throw new Error(`Daytona's type declarations hold something that the emulator does not understand: ${what}`);
}

function toObject(members: readonly Member[]): Shape {
  const fields = new Map<string, { shape: Shape; isOptional: boolean }>();
  for (const member of members) {
    if (member.type === "TSIndexSignature")
      return { kind: "map", values: toShape(member.typeAnnotation.typeAnnotation) };
    if (member.type !== "TSPropertySignature" || member.typeAnnotation === null) return notUnderstood(member.type);
    const { key } = member;
    const name =
      key.type === "Literal" ? String(key.value) : key.type === "Identifier" ? key.name : notUnderstood(key.type);
    fields.set(name, { shape: toShape(member.typeAnnotation.typeAnnotation), isOptional: member.optional });
  }
  return { kind: "object", fields };
}

export function toShape(node: TypeNode): Shape {
  const keyword = KEYWORDS[node.type];
  if (keyword !== undefined) return keyword;
  switch (node.type) {
    case "TSUnionType":
      return { kind: "union", members: node.types.map(toShape) };
    case "TSTypeLiteral":
      return toObject(node.members);
    case "TSLiteralType":
      return node.literal.type === "Literal"
        ? { kind: "literal", value: node.literal.value }
        : notUnderstood(node.literal.type);
    case "TSTypeReference": {
      if (node.typeName.type !== "Identifier") return notUnderstood(node.typeName.type);
      const { name } = node.typeName;
      const [argument] = node.typeArguments?.params ?? [];
      // On the wire a date is text.
      if (name === "Date") return { kind: "string" };
      if (name === "Array" && argument !== undefined) return { kind: "array", items: toShape(argument) };
      return { kind: "named", name };
    }
    default:
      return notUnderstood(node.type);
  }
}

/** What one file of models declares. An enumeration is a constant object and a type of the same name, made of its values. */
export function readModels(statements: readonly Statement[]): ReadonlyMap<string, Shape> {
  const models = new Map<string, Shape>();
  for (const statement of statements) {
    const declaration = statement.type === "ExportNamedDeclaration" ? statement.declaration : null;
    if (declaration?.type === "TSInterfaceDeclaration")
      models.set(declaration.id.name, toObject(declaration.body.body));
    if (declaration?.type === "VariableDeclaration")
      for (const { id } of declaration.declarations) {
        if (id.type !== "Identifier" || id.typeAnnotation?.typeAnnotation.type !== "TSTypeLiteral") continue;
        const shape = toObject(id.typeAnnotation.typeAnnotation.members);
        if (shape.kind === "object")
          models.set(id.name, { kind: "union", members: [...shape.fields.values()].map((field) => field.shape) });
      }
    if (declaration?.type === "TSTypeAliasDeclaration" && !models.has(declaration.id.name))
      models.set(declaration.id.name, toShape(declaration.typeAnnotation));
  }
  return models;
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** One sentence per place where a value differs from its shape: a field that is missing, unknown, or of another type. */
export function complainOfValue(
  value: unknown,
  shape: Shape,
  models: ReadonlyMap<string, Shape>,
  path: string,
): readonly string[] {
  const check = (inner: unknown, innerShape: Shape, innerPath: string) =>
    complainOfValue(inner, innerShape, models, innerPath);
  switch (shape.kind) {
    case "any":
      return [];
    case "null":
      return value === null ? [] : [`${path} is not null`];
    case "string":
    case "number":
    case "boolean":
      return typeof value === shape.kind ? [] : [`${path} is not a ${shape.kind}`];
    case "literal":
      return value === shape.value ? [] : [`${path} is not ${JSON.stringify(shape.value)}`];
    case "array":
      if (!Array.isArray(value)) return [`${path} is not a list`];
      return value.flatMap((item, index) => check(item, shape.items, `${path}[${index}]`));
    case "map":
      if (!isRecord(value)) return [`${path} is not an object`];
      return Object.entries(value).flatMap(([key, inner]) => check(inner, shape.values, `${path}.${key}`));
    case "union":
      return shape.members.some((member) => check(value, member, path).length === 0)
        ? []
        : [`${path} is none of what is allowed: ${JSON.stringify(value)}`];
    case "named": {
      const model = models.get(shape.name);
      return model === undefined ? notUnderstood(shape.name) : check(value, model, path);
    }
    case "object": {
      if (!isRecord(value)) return [`${path} is not an object`];
      const unknown = Object.keys(value).filter((key) => !shape.fields.has(key));
      const wrong = [...shape.fields].flatMap(([name, field]) => {
        if (value[name] === undefined) return field.isOptional ? [] : [`${path}.${name} is missing`];
        return check(value[name], field.shape, `${path}.${name}`);
      });
      return [...unknown.map((key) => `${path}.${key} is not known`), ...wrong];
    }
  }
}
