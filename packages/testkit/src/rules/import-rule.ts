/** Who may import whom: arrows point at `contract`, processes meet only on the wire. */
import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { parseSync } from "oxc-parser";

interface Rule {
  /** Workspace packages, or one entry of theirs, and npm packages by name; `node` is every built-in, `npm` every npm package. */
  readonly packages: readonly string[] | "all";
  /** Other places of the same package. */
  readonly places: readonly string[] | "all";
}

/** A place is a package, or in `server` and `client` a folder or file of `src`. A file in no place is an offence. */
const RULES: Readonly<Record<string, Rule>> = {
  contract: { packages: ["zod"], places: [] },
  core: { packages: ["contract"], places: [] },
  worker: { packages: ["contract", "node", "npm"], places: [] },
  client: { packages: ["contract"], places: [] },
  "client/react": { packages: ["contract", "react"], places: ["client"] },
  harness: { packages: ["contract", "core", "server/sandbox", "node", "zod", "vitest"], places: [] },
  cli: { packages: ["contract", "client", "server", "worker", "harness", "node", "npm"], places: [] },
  web: { packages: ["contract", "client", "npm"], places: [] },
  testkit: { packages: "all", places: "all" },

  "server/ports": { packages: ["contract", "node"], places: [] },
  "server/store": { packages: ["contract", "core", "node", "zod"], places: ["server/ports"] },
  "server/app": {
    packages: ["contract", "core", "node", "zod"],
    places: ["server/store", "server/ports", "server/loop.ts", "server/nap.ts"],
  },
  "server/http": { packages: ["contract", "core", "node", "npm"], places: ["server/app", "server/ports"] },
  "server/adapters": { packages: ["contract", "node", "npm"], places: ["server/ports"] },
  "server/config.ts": { packages: ["contract", "node", "npm"], places: [] },
  "server/loop.ts": { packages: [], places: ["server/ports", "server/nap.ts"] },
  "server/nap.ts": { packages: [], places: ["server/ports"] },
  "server/loops.ts": { packages: [], places: ["server/app", "server/loop.ts", "server/ports"] },
  "server/main.ts": { packages: ["contract", "core", "node", "npm"], places: "all" },
  "server/probe.ts": { packages: ["contract", "node"], places: ["server/adapters", "server/ports"] },
  "server/sandbox.ts": { packages: [], places: ["server/adapters", "server/app", "server/http", "server/ports"] },
  "server/index.ts": { packages: [], places: "all" },
};

const COMPUTED = "(computed)";
/** They load what is installed at run time and can be no dependency: agents, from where they are mounted. */
const LOADERS: ReadonlySet<string> = new Set(["packages/worker/src/agents/claude/sdk.ts"]);

interface Spot {
  readonly pkg: string;
  readonly place: string;
}

/** Undefined for what is not below a package's `src`, such as a `package.json`. */
function findSpot(path: string): Spot | undefined {
  const [, pkg, head] = /^packages\/([^/]+)\/src\/([^/]+)/.exec(path) ?? [];
  if (pkg === undefined || head === undefined) return undefined;
  const narrow = `${pkg}/${head}`;
  return { pkg, place: pkg === "server" || narrow in RULES ? narrow : pkg };
}

const allows = (list: readonly string[] | "all", ...names: readonly string[]): boolean =>
  list === "all" || names.some((name) => list.includes(name));

function complainOfPackage(rule: Rule, own: string, specifier: string): string | undefined {
  if (specifier.startsWith("node:")) return allows(rule.packages, "node") ? undefined : specifier;
  const name = /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier;
  const workspace = /^@drover\/(.+)/.exec(name)?.[1];
  const entry = specifier.replace(/^@drover\//, "");
  if (workspace === undefined) return allows(rule.packages, "npm", name) ? undefined : name;
  return workspace === own || allows(rule.packages, workspace, entry) ? undefined : name;
}

/** One sentence per import that the rule forbids. */
function complain(file: string, specifier: string): string | undefined {
  const from = findSpot(file);
  const rule = from === undefined ? undefined : RULES[from.place];
  if (from === undefined || rule === undefined) return `${file}: no rule says what this place may import`;
  if (specifier === COMPUTED)
    return rule.packages === "all" || LOADERS.has(file)
      ? undefined
      : `${file}: ${from.place} computes what it imports; name it`;
  if (!specifier.startsWith(".")) {
    const name = complainOfPackage(rule, from.pkg, specifier);
    return name === undefined ? undefined : `${file}: ${from.place} may not import ${name}`;
  }
  const target = findSpot(relative(".", resolve(dirname(file), specifier)));
  if (target === undefined || target.place === from.place) return undefined;
  if (target.pkg !== from.pkg && rule.packages !== "all")
    return `${file}: ${from.pkg} reaches into ${target.pkg} by path; import a package by its name`;
  return allows(rule.places, target.place) ? undefined : `${file}: ${from.place} may not import ${target.place}`;
}

/** Static, re-exported and dynamic imports alike; types too (also `import("x").T`), since they couple as much. */
function readImports(file: string, text: string): readonly string[] {
  const { module, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file} does not parse: ${errors[0]?.message}`);
  return [
    ...module.staticImports.map((found) => found.moduleRequest.value),
    ...module.staticExports.flatMap((found) => found.entries.flatMap((entry) => entry.moduleRequest?.value ?? [])),
    ...Array.from(text.matchAll(/\bimport\(\s*["']([^"']+)["']/g), ([, specifier = ""]) => specifier),
    ...module.dynamicImports.flatMap(({ moduleRequest }) =>
      /["']/.test(text.charAt(moduleRequest.start)) ? [] : COMPUTED,
    ),
  ];
}

/** One sentence per import below `root` that the rule forbids. Tests are free. */
export function findForbiddenImports(root: string): readonly string[] {
  const files = globSync("packages/*/src/**/*.{ts,tsx}", {
    cwd: root,
    exclude: ["**/*.test.ts", "**/*.test.tsx"],
  }).sort();
  const found = files.flatMap((file) =>
    readImports(file, readFileSync(join(root, file), "utf8")).flatMap((specifier) => complain(file, specifier) ?? []),
  );
  return [...new Set(found)];
}
