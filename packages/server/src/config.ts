/** All settings resolved once: parameters > environment > .env > drover.yaml > defaults, each with its origin. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { AppError, OPTIONS, type Config, type FieldComplaint, type Option, type OptionName } from "@drover/contract";
import { parseDocument } from "yaml";
import { z } from "zod";

export type OriginKind = "parameter" | "environment" | ".env" | "drover.yaml" | "default";

export interface Origin {
  readonly kind: OriginKind;
  /** The name under which it was given there. */
  readonly name: string;
}

export type Origins = { readonly [Name in OptionName]: Origin };

type Texts = Readonly<Record<string, string | undefined>>;

export interface ConfigSources {
  /** By option name, as text. */
  readonly params?: { readonly [Name in OptionName]?: string | undefined };
  readonly env?: Texts;
  readonly dotenv?: Texts;
  /** The parsed file. */
  readonly yaml?: unknown;
}

interface Found {
  readonly text: string;
  readonly origin: Origin;
}

const NAMES = Object.keys(OPTIONS) as OptionName[];
const YAML_KEYS: readonly string[] = NAMES.map((name) => OPTIONS[name].yaml);
const YAML_FILE = "drover.yaml";

const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isScalar = (value: unknown): value is string | number | boolean =>
  ["string", "number", "boolean"].includes(typeof value);

/** Edits that turn one word into the other (Levenshtein). */
function countEdits(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [i, left] of one.split("").entries()) {
    const above = row;
    row = [i + 1];
    for (const [j, right] of other.split("").entries()) {
      const replaced = (above[j] ?? 0) + (left === right ? 0 : 1);
      row.push(Math.min(replaced, (above[j + 1] ?? 0) + 1, (row[j] ?? 0) + 1));
    }
  }
  return row.at(-1) ?? 0;
}

const pickNearest = (key: string): string =>
  YAML_KEYS.toSorted((a, b) => countEdits(key, a) - countEdits(key, b))[0] ?? "";

const complainOfKey = (key: string): FieldComplaint => ({
  path: key,
  message: `${YAML_FILE}: ${key} is not a known key; did you mean ${pickNearest(key)}?`,
});

/** The file as dotted keys with text, and what in it is not understood. */
function readYaml(yaml: unknown): {
  readonly values: ReadonlyMap<string, string>;
  readonly complaints: readonly FieldComplaint[];
} {
  const values = new Map<string, string>();
  const complaints: FieldComplaint[] = [];
  const walk = (value: unknown, key: string) => {
    const isKnown = YAML_KEYS.includes(key);
    if (isKnown && isScalar(value)) values.set(key, String(value));
    else if (isKnown && Array.isArray(value) && value.every(isScalar)) values.set(key, value.join(","));
    else if (isKnown && value !== null)
      complaints.push({ path: key, message: `${YAML_FILE}: ${key} must be a single value` });
    else if (isKnown) return; // A key without a value is unset.
    else if (!YAML_KEYS.some((known) => known.startsWith(`${key}.`))) complaints.push(complainOfKey(key));
    else if (isMap(value)) for (const [inner, one] of Object.entries(value)) walk(one, `${key}.${inner}`);
    else if (value !== null)
      complaints.push({ path: key, message: `${YAML_FILE}: ${key} must be a section with keys below it` });
  };
  if (isMap(yaml)) for (const [key, value] of Object.entries(yaml)) walk(value, key);
  else if (yaml !== undefined && yaml !== null)
    complaints.push({ path: "", message: `${YAML_FILE} must hold sections with keys` });
  return { values, complaints };
}

/** First wins. A variable that is set to nothing counts as unset, as shells and compose files write it. */
function findValue(name: OptionName, sources: ConfigSources, yaml: ReadonlyMap<string, string>): Found | undefined {
  const option: Option = OPTIONS[name];
  const names = [option.env, ...(option.aliases ?? [])];
  const given: readonly (readonly [string | undefined, Origin])[] = [
    [sources.params?.[name], { kind: "parameter", name: option.flag ?? name }],
    ...names.map((one) => [sources.env?.[one] || undefined, { kind: "environment", name: one }] as const),
    ...names.map((one) => [sources.dotenv?.[one] || undefined, { kind: ".env", name: one }] as const),
    [yaml.get(option.yaml), { kind: "drover.yaml", name: option.yaml }],
    [option.fallback, { kind: "default", name }],
  ];
  for (const [text, origin] of given) if (text !== undefined) return { text, origin };
  return undefined;
}

/** What an option takes, as people say it; read from its schema, so it cannot drift. */
export function describeAllowed(option: Option): string {
  const schema = z.toJSONSchema(option.schema, { io: "output", unrepresentable: "any" });
  if (schema.description !== undefined) return schema.description;
  if (schema.enum !== undefined) return `one of ${schema.enum.join(", ")}`;
  if (schema.type === "boolean") return "true or false";
  if (schema.format === "uri") return "an address such as https://drover.example.org";
  if (schema.type === "string") {
    const least = schema.minLength ?? 0;
    return least > 1 ? `text of at least ${least} characters` : "text";
  }
  const kind = schema.type === "integer" ? "a whole number" : "a number";
  if (schema.exclusiveMinimum === 0) return `${kind} above 0`;
  return schema.maximum === undefined ? kind : `${kind} from ${schema.minimum ?? 0} to ${schema.maximum}`;
}

function complainOfValue(option: Option, found: Found): FieldComplaint {
  const value = option.secret === true ? "this value" : JSON.stringify(found.text);
  const where = found.origin.kind === "parameter" ? found.origin.name : `${found.origin.name} (${found.origin.kind})`;
  return { path: found.origin.name, message: `${where}: ${value} is not allowed; give ${describeAllowed(option)}` };
}

/** Throws `config.invalid` with every complaint at once. */
export function resolveConfig(sources: ConfigSources): { readonly config: Config; readonly origins: Origins } {
  const yaml = readYaml(sources.yaml);
  const complaints = [...yaml.complaints];
  const config: Partial<Record<OptionName, unknown>> = {};
  const origins: Partial<Record<OptionName, Origin>> = {};
  for (const name of NAMES) {
    const option: Option = OPTIONS[name];
    const found = findValue(name, sources, yaml.values);
    origins[name] = found?.origin ?? { kind: "default", name };
    if (found === undefined) continue;
    // Numbers are coerced, and nothing would become 0.
    const parsed = found.text.trim() === "" ? undefined : option.schema.safeParse(found.text);
    if (parsed?.success === true) config[name] = parsed.data;
    else complaints.push(complainOfValue(option, found));
  }
  if (complaints.length > 0) {
    throw new AppError("config.invalid", complaints.map((one) => one.message).join("\n"), { fields: complaints });
  }
  // Each value came from its option's own schema above.
  return { config: config as Config, origins: origins as Origins };
}

const readIfThere = (path: string): string | undefined => {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    // Expected: most directories have neither file.
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new AppError("config.invalid", `${path} cannot be read`, { cause });
  }
};

export function parseYaml(text: string): unknown {
  const document = parseDocument(text);
  const [error] = document.errors;
  if (error !== undefined) throw new AppError("config.invalid", `${YAML_FILE}: ${error.message}`, { cause: error });
  return document.toJS();
}

/** What lies in this directory: `.env` and `drover.yaml`, each optional. */
export function loadConfigSources(cwd: string): { readonly dotenv: Texts; readonly yaml: unknown } {
  const yaml = readIfThere(join(cwd, YAML_FILE));
  return {
    dotenv: parseEnv(readIfThere(join(cwd, ".env")) ?? ""),
    yaml: yaml === undefined ? undefined : parseYaml(yaml),
  };
}
