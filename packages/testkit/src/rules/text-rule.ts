/** What no file may be called or contain, and the paths that documents name. */
import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

interface TextRule {
  readonly sentence: string;
  readonly applies: (path: string) => boolean;
  readonly offends: (text: string, path: string) => boolean;
}

const ROLES =
  "manager|engine|helpers?|utils?|common|shared|base|misc|lib|service|handler|processor|types|interfaces".split("|");
const VERSIONS = "v\\d+|next|legacy|new".split("|");
const ROLE_NAME = new RegExp(`(?:^|[.-])(?:${[...ROLES, ...VERSIONS].join("|")})$`);
const KEBAB = /^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.[a-z]+)*$/;
const LINE_LIMIT = 500;

const isTest = (path: string) => /\.test\.tsx?$/.test(path);
const isAny = () => true;
const stem = (path: string) => basename(path).replace(/\.tsx?$/, "");
const has = (pattern: RegExp) => (text: string) => pattern.test(text);

const TEXT_RULES: readonly TextRule[] = [
  {
    sentence: "is named for a role or a version, not for the thing it holds",
    applies: isAny,
    offends: (_, path) => ROLE_NAME.test(stem(path).replace(/\.test$/, "")),
  },
  { sentence: "is not named in kebab-case", applies: isAny, offends: (_, path) => !KEBAB.test(stem(path)) },
  {
    sentence: `has more than ${LINE_LIMIT} lines: it has two subjects`,
    applies: isAny,
    offends: (text) => text.split("\n").length > LINE_LIMIT + 1,
  },
  {
    sentence: "sets HTML from a string",
    applies: isAny,
    offends: has(/\b(?:inner|outer)HTML\s*=[^=]|dangerouslySet(?:InnerHTML)|insertAdjacent(?:HTML)\(/),
  },
  { sentence: "mocks a module of ours", applies: isTest, offends: has(/\bvi\.(?:do)?[mM]ock\(/) },
  {
    sentence: "skips or singles out a test",
    applies: isTest,
    offends: has(/\b(?:test|it|describe)(?:\.\w+)*\.(?:skip|only|todo)\b/),
  },
  {
    sentence: "waits for time to pass, not for a fact",
    applies: isTest,
    offends: has(
      /["'](?:node:)?timers\/promises["']|=>\s*\{?\s*(?:void )?setTimeout\(\w+,|\b(?:sleep|delay)\(\s*[\d_]+/,
    ),
  },
];

export const findTextOffences = (path: string, text: string): readonly string[] =>
  TEXT_RULES.filter((rule) => rule.applies(path) && rule.offends(text, path)).map((rule) => `${path} ${rule.sentence}`);

const SOURCES = ["packages/*/src/**/*.{ts,tsx}", "scripts/**/*.ts", "bench/**/*.ts", "examples/**/*.ts"];

export const findOffences = (root: string): readonly string[] =>
  globSync(SOURCES, { cwd: root, exclude: ["**/node_modules/**"] })
    .sort()
    .flatMap((path) => findTextOffences(path, readFileSync(join(root, path), "utf8")));

const DOCUMENTS = ["*.md", "docs/**/*.md", "bench/*.md", "packages/*/*.md", "packages/*/src/**/*.md"];
/** Made at run time or by a build; a fresh clone has none of them. */
const MADE = /(?:^|\/)(?:dist|node_modules|\.drover)(?:\/|$)/;
const LINK = /\]\((?!https?:|#|mailto:)([^)#\s]+)[^)]*\)/g;
const ROOT_PATH = /`((?:packages|docs|scripts|bench|examples|\.ci)\/[^`\s]*)`/g;

const isNamed = (root: string, path: string): boolean =>
  /[*{]/.test(path) ? globSync(path, { cwd: root }).length > 0 : existsSync(join(root, path));

/** Links count from their document, paths in code quotes from the root. */
export function findDeadPaths(root: string, document: string, text: string): readonly string[] {
  const links = Array.from(text.matchAll(LINK), ([, to = ""]) => join(dirname(document), to));
  const paths = Array.from(text.matchAll(ROOT_PATH), ([, path = ""]) => path.replace(/:\d+$/, ""));
  return [...links, ...paths]
    .filter((path) => !MADE.test(path) && !/[<>$]/.test(path) && !isNamed(root, path))
    .map((path) => `${document} names ${path}, which does not exist`);
}

export const findAllDeadPaths = (root: string): readonly string[] =>
  globSync(DOCUMENTS, { cwd: root, exclude: ["**/node_modules/**"] })
    .sort()
    .flatMap((document) => findDeadPaths(root, document, readFileSync(join(root, document), "utf8")));
