/** Which model calls exist: vendors' paths, strictly. What is not in this table goes nowhere. */
export type ModelProtocol = "anthropic" | "openai" | "gemini";
export const MODEL_PROTOCOLS: readonly ModelProtocol[] = ["anthropic", "openai", "gemini"];

/** How requests, answers and usage are written. */
export type ModelDialect = "messages" | "responses" | "chat" | "gemini";

export interface ModelRoute {
  readonly protocol: ModelProtocol;
  readonly dialect: ModelDialect;
  /** `generate` costs money; `count` counts tokens; `list` tells of models. */
  readonly kind: "generate" | "count" | "list";
  /** Below the vendor's version. */
  readonly path: string;
  readonly version: string;
  /** Where the path says it; elsewhere the body does. */
  readonly model: string | undefined;
  readonly isStream: boolean | undefined;
}

interface Rule {
  readonly method: "GET" | "POST";
  readonly path: RegExp;
  readonly dialect: ModelDialect;
  readonly kind: ModelRoute["kind"];
}

const MODEL = "[A-Za-z0-9][A-Za-z0-9._-]{0,119}";

const RULES: Readonly<Record<ModelProtocol, readonly Rule[]>> = {
  anthropic: [
    { method: "POST", path: /^\/messages$/, dialect: "messages", kind: "generate" },
    { method: "POST", path: /^\/messages\/count_tokens$/, dialect: "messages", kind: "count" },
    { method: "GET", path: new RegExp(`^/models(?:/${MODEL})?$`), dialect: "messages", kind: "list" },
  ],
  openai: [
    { method: "POST", path: /^\/responses$/, dialect: "responses", kind: "generate" },
    { method: "POST", path: /^\/chat\/completions$/, dialect: "chat", kind: "generate" },
    { method: "GET", path: new RegExp(`^/models(?:/${MODEL})?$`), dialect: "responses", kind: "list" },
  ],
  gemini: [
    {
      method: "POST",
      path: new RegExp(`^/models/(${MODEL}):(generateContent|streamGenerateContent)$`),
      dialect: "gemini",
      kind: "generate",
    },
    { method: "POST", path: new RegExp(`^/models/(${MODEL}):countTokens$`), dialect: "gemini", kind: "count" },
    { method: "GET", path: new RegExp(`^/models(?:/${MODEL})?$`), dialect: "gemini", kind: "list" },
  ],
};

const VERSION = /^\/(v\d+(?:(?:alpha|beta)\d*)?)(?=\/)/;
const DEFAULT_VERSION: Readonly<Record<ModelProtocol, string>> = { anthropic: "v1", openai: "v1", gemini: "v1beta" };

export const isModelProtocol = (name: string): name is ModelProtocol =>
  (MODEL_PROTOCOLS as readonly string[]).includes(name);

/** `path` is what stands after the protocol's name, without a query. */
export function findModelRoute(protocol: ModelProtocol, method: string, path: string): ModelRoute | undefined {
  const version = VERSION.exec(path)?.[1];
  const rest = version === undefined ? path : path.slice(version.length + 1);
  for (const rule of RULES[protocol]) {
    const match = rule.method === method ? rule.path.exec(rest) : null;
    if (match === null) continue;
    const [, model, verb] = match;
    const isInPath = protocol === "gemini" && rule.kind !== "list";
    return {
      protocol,
      dialect: rule.dialect,
      kind: rule.kind,
      path: rest,
      version: version ?? DEFAULT_VERSION[protocol],
      model: isInPath ? model : undefined,
      isStream: verb === undefined ? undefined : verb === "streamGenerateContent",
    };
  }
  return undefined;
}

/** People write base URLs with the version and without; both mean the same. */
export function toUpstreamUrl(base: string, route: Pick<ModelRoute, "path" | "version">, query: string): string {
  const trimmed = base.replace(/\/+$/, "");
  const root = /\/v\d+(?:(?:alpha|beta)\d*)?$/.test(trimmed) ? trimmed : `${trimmed}/${route.version}`;
  return root + route.path + (query === "" ? "" : `?${query}`);
}

/** `claude-*, gpt-5.5`: a star stands for anything. Nothing given allows everything. */
export function isModelAllowed(allowed: string | undefined, model: string): boolean {
  const patterns = (allowed ?? "")
    .split(",")
    .map((pattern) => pattern.trim())
    .filter((pattern) => pattern !== "");
  return patterns.length === 0 || patterns.some((pattern) => isModelMatch(pattern, model));
}

/** Vendors write 4.5 and 4-5 for the same model. */
const toPlain = (model: string) => model.toLowerCase().replaceAll(".", "-");

export function isModelMatch(pattern: string, model: string): boolean {
  const parts = toPlain(pattern).split("*");
  const plain = toPlain(model);
  const [first = "", ...rest] = parts;
  if (rest.length === 0) return plain === first;
  if (!plain.startsWith(first)) return false;
  let at = first.length;
  for (const part of rest.slice(0, -1)) {
    const found = plain.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  const last = rest.at(-1) ?? "";
  return plain.length - last.length >= at && plain.endsWith(last);
}
