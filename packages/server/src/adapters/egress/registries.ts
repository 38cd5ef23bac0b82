/** Which package registries this machine's own npm, pip and apt are set up with: read from them, never written down here. */
import { execFile } from "node:child_process";
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Registries } from "../../ports/egress.ts";

const run = promisify(execFile);
const ASK_MS = 15_000;

export interface RegistrySources {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  /** Stands before every absolute path; empty outside of tests. */
  readonly root?: string;
  /** What a program prints, empty when it is missing or fails. */
  readonly ask?: (program: string, args: readonly string[]) => Promise<string>;
}

const askProgram = async (program: string, args: readonly string[]): Promise<string> =>
  // Expected: the program is not installed, and then sandboxes have no use for its registry.
  (await run(program, [...args], { timeout: ASK_MS, cwd: "/" }).catch(() => ({ stdout: "" }))).stdout;

// Expected everywhere below: most of these files exist on no machine.
const readOr = (path: string) => readFile(path, "utf8").catch(() => "");
const toLines = (text: string) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !/^[#;]/.test(line));
const WEB = /https?:\/\/[^\s,"'\]]+/gi;
const findUrls = (text: string): readonly string[] => text.match(WEB) ?? [];

interface Found {
  /** The one that is asked for everything, when it is set. */
  readonly main: string | undefined;
  readonly urls: readonly string[];
}

async function readNpm({ env, home, root = "" }: RegistrySources): Promise<Found> {
  const variables = Object.entries(env).flatMap(([name, value]) => {
    const [, scope = "", key] = /^npm_config_(.*:)?(registry)$/i.exec(name) ?? [];
    return key === undefined || value === undefined ? [] : [`${scope}registry=${value}`];
  });
  const files = [
    env["NPM_CONFIG_USERCONFIG"] ?? env["npm_config_userconfig"] ?? join(home, ".npmrc"),
    env["NPM_CONFIG_GLOBALCONFIG"] ?? env["npm_config_globalconfig"] ?? "/etc/npmrc",
    "/usr/etc/npmrc",
    "/usr/local/etc/npmrc",
  ];
  const texts = await Promise.all(files.map((file) => readOr(join(root, file))));
  const set = [...variables, ...texts.flatMap(toLines)].flatMap((line) => {
    const [, key = "", url] = /^((?:@[^:]+:)?registry)\s*=\s*["']?(https?:\/\/[^\s"']+)/i.exec(line) ?? [];
    return url === undefined ? [] : [{ key: key.toLowerCase(), url }];
  });
  return { main: set.find(({ key }) => key === "registry")?.url, urls: set.map(({ url }) => url) };
}

async function readPip({ env, home, root = "" }: RegistrySources): Promise<Found> {
  const files = [
    env["PIP_CONFIG_FILE"] ?? "",
    join(env["XDG_CONFIG_HOME"] ?? join(home, ".config"), "pip/pip.conf"),
    join(home, ".pip/pip.conf"),
    "/etc/pip.conf",
    "/etc/xdg/pip/pip.conf",
  ].filter(Boolean);
  const texts = await Promise.all(files.map((file) => readOr(join(root, file))));
  // A value may go on in the lines below, each further in.
  const values = (key: string) =>
    texts.flatMap((text) =>
      Array.from(
        text.matchAll(new RegExp(`^\\s*${key}\\s*[=:](.*(?:\\n[ \\t]+.*)*)`, "gim")),
        ([, value = ""]) => value,
      ),
    );
  const index = [env["PIP_INDEX_URL"] ?? "", ...values("index-url")].flatMap(findUrls);
  const extra = [env["PIP_EXTRA_INDEX_URL"] ?? "", ...values("extra-index-url"), ...values("find-links")];
  return { main: index[0], urls: [...index, ...extra.flatMap(findUrls)] };
}

async function readApt({ root = "" }: RegistrySources): Promise<readonly string[]> {
  const folder = join(root, "/etc/apt/sources.list.d");
  const names = (await readdir(folder).catch(() => [])).filter((name) => /\.(?:list|sources)$/.test(name));
  const texts = await Promise.all(
    [join(root, "/etc/apt/sources.list"), ...names.map((name) => join(folder, name))].map(readOr),
  );
  return texts.flatMap((text) =>
    toLines(text)
      .filter((line) => /^(?:deb|deb-src|URIs:)\s/i.test(line))
      .flatMap((line) => findUrls(line.replace(/\[[^\]]*\]/, ""))),
  );
}

/** A name and password in an address are for this machine, not for what runs in a sandbox. */
const isBare = (url: string) => URL.canParse(url) && new URL(url).username === "" && new URL(url).password === "";

/** Without a setting each program has a default of its own, and only the program knows it. */
const DEFAULTS = {
  npm: { args: ["config", "get", "registry"], find: findUrls },
  pip: {
    args: ["download", "--help"],
    find: (text: string) => findUrls(/\(default\s+(\S+)\)/.exec(text)?.[1] ?? ""),
  },
} as const;

/** Files are read when they are asked for; programs are asked once, and only when somebody wants to know. */
export function openRegistries(sources: RegistrySources): Registries {
  const ask = sources.ask ?? askProgram;
  const askDefault = async (program: keyof typeof DEFAULTS, { main }: Found) =>
    main === undefined ? DEFAULTS[program].find(await ask(program, DEFAULTS[program].args)) : [];
  let all: Promise<readonly string[]> | undefined;
  const readAll = async () => {
    const [npm, pip, apt] = await Promise.all([readNpm(sources), readPip(sources), readApt(sources)]);
    const defaults = await Promise.all([askDefault("npm", npm), askDefault("pip", pip)]);
    return [...new Set([...npm.urls, ...pip.urls, ...apt, ...defaults.flat()])];
  };
  return {
    readAll: () => (all ??= readAll()),
    readEnv: async () => {
      const [npm, pip] = await Promise.all([readNpm(sources), readPip(sources)]);
      return {
        ...(npm.main !== undefined && isBare(npm.main) ? { npm_config_registry: npm.main } : {}),
        ...(pip.main !== undefined && isBare(pip.main) ? { PIP_INDEX_URL: pip.main } : {}),
      };
    },
  };
}
