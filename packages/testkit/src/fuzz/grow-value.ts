/** Grows a value that a JSON schema accepts, mostly: ids are taken from those that were seen, everything else by chance. */
import type { Chance } from "../chance.ts";

export interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
}

/** Gives a known value for a field's name, if there is one. */
export type KnownIds = (field: string, chance: Chance) => string | undefined;

const WORDS = [
  "main",
  "a",
  "agent.message",
  "feature/x",
  "src/**",
  "PHASE_IMPLEMENTATION",
  "HIGH",
  "x y",
  "日本",
] as const;

const DEEPEST = 8;

function growString(schema: Schema, field: string, chance: Chance, known: KnownIds): string {
  const id = known(field, chance);
  if (id !== undefined && chance.isIn(85)) return id;
  if (schema.format === "date-time")
    return new Date(Date.UTC(2026, chance.int(0, 11), chance.int(1, 28))).toISOString();
  if (schema.pattern?.includes("[0-9a-f]{64}") === true) return "0123456789abcdef".repeat(4);
  const text = chance.pick(WORDS).repeat(chance.int(1, 3));
  return text.slice(0, schema.maxLength ?? text.length).padEnd(Math.min(schema.minLength ?? 0, 200), "x");
}

function growNumber(schema: Schema, isInteger: boolean, chance: Chance): number {
  const low = Math.max(schema.minimum ?? 0, -1e9);
  const high = Math.min(schema.maximum ?? low + 1_000, low + 100_000);
  const value = chance.int(Math.ceil(low), Math.max(Math.ceil(low), Math.floor(high)));
  return isInteger || chance.isIn(50) ? value : value + 0.25;
}

export function growValue(
  root: Schema,
  chance: Chance,
  known: KnownIds,
  schema: Schema = root,
  field = "",
  depth = 0,
): unknown {
  const grow = (next: Schema, name: string) => growValue(root, chance, known, next, name, depth + 1);
  if (depth > DEEPEST) return null;
  if (schema.$ref !== undefined) return grow(root.$defs?.[schema.$ref.split("/").at(-1) ?? ""] ?? {}, field);
  if (schema.const !== undefined) return schema.const;
  const [firstOption, ...options] = schema.enum ?? [];
  if (schema.enum !== undefined) return known(field, chance) ?? chance.pick([firstOption, ...options]);
  const [firstWay, ...ways] = schema.anyOf ?? schema.oneOf ?? [];
  if (firstWay !== undefined) return grow(chance.pick([firstWay, ...ways]), field);
  if (schema.allOf !== undefined)
    return Object.assign({}, ...schema.allOf.map((part) => grow(part, field) as Record<string, unknown>));
  switch (Array.isArray(schema.type) ? schema.type[0] : schema.type) {
    case "string":
      return growString(schema, field, chance, known);
    case "integer":
    case "number":
      return growNumber(schema, schema.type === "integer", chance);
    case "boolean":
      return chance.isIn(50);
    case "null":
      return null;
    case "array":
      return Array.from({ length: chance.int(0, 3) }, () => grow(schema.items ?? {}, field.replace(/s$/, "")));
    case "object": {
      const own = Object.entries(schema.properties ?? {})
        .filter(([name]) => schema.required?.includes(name) === true || chance.isIn(30))
        .map(([name, part]) => [name, grow(part, name)] as const);
      const free =
        typeof schema.additionalProperties === "object" && chance.isIn(60)
          ? [["a-key", grow(schema.additionalProperties, "")] as const]
          : [];
      return Object.fromEntries([...own, ...free]);
    }
    default:
      return chance.pick<unknown>(["text", 1, true, { any: "thing" }]);
  }
}
