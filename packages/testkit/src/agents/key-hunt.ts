/** Looks for secrets inside a sandbox: environments and arguments of all processes, all files that can be read, Git's settings;
 *  as they are, in hexadecimal and in base64. */
import { randomBytes } from "node:crypto";
import type { Config } from "@drover/contract";
import { ADMIN_TOKEN, type TestServer } from "../server.ts";

/** Secrets of a server, by name. */
export type Secrets = Readonly<Record<string, string>>;

const toSecret = (prefix: string) => prefix + randomBytes(16).toString("hex");

/** Secrets that a server is given, so that one can look for them elsewhere. */
export function plantSecrets(): { readonly secrets: Secrets; readonly config: Partial<Config> } {
  const anthropic = toSecret("sk-ant-");
  const openai = toSecret("sk-");
  const gemini = toSecret("AIza");
  const sealing = toSecret("");
  const github = toSecret("ghp_");
  // Of the server's own environment nothing may get in either.
  process.env["GITHUB_TOKEN"] = github;
  return {
    secrets: { anthropic, openai, gemini, sealing, github, admin: ADMIN_TOKEN },
    config: { anthropicApiKey: anthropic, openaiApiKey: openai, geminiApiKey: gemini, secretKey: sealing },
  };
}

/** The parts of a secret's base64 that stay the same wherever it stands in a longer text. */
function toBase64Forms(secret: string): readonly string[] {
  return [0, 1, 2].map((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift), Buffer.from(secret)]).toString("base64");
    // The first characters mix with what stands before, the last with what follows.
    return text.slice(shift === 0 ? 0 : 4, -4);
  });
}

const escape = (text: string) => text.replaceAll(/[.+*?^$()[\]{}|\\/]/g, (one) => `\\${one}`);

/** Matches the text and not itself: it stands in the arguments of the process that looks. */
function toPattern(text: string): string {
  const [first = "", ...rest] = text;
  return `[${first}]${escape(rest.join(""))}`;
}

const toForms = (secret: string): readonly string[] => [
  secret,
  Buffer.from(secret).toString("hex"),
  Buffer.from(secret).toString("hex").toUpperCase(),
  ...toBase64Forms(secret),
  ...toBase64Forms(secret).map((form) => form.replaceAll("+", "-").replaceAll("/", "_")),
];

/** What the machine has installed was there before the server had a secret; it is mounted read-only, and large. */
const LEFT_OUT = ["/proc", "/sys", "/dev", "/usr", "/opt/drover/agents"];

const toScript = (pattern: string): string => {
  const prune = LEFT_OUT.map((path) => `-path ${path}`).join(" -o ");
  return [
    `p='${pattern}'`,
    // All that a process shows of itself; NUL is turned to newlines so that lines are single settings.
    `for f in /proc/[0-9]*/environ /proc/[0-9]*/cmdline; do tr '\\0' '\\n' < "$f" 2>/dev/null | grep -aqE -e "$p" && echo "FOUND $f"; done`,
    `env | grep -qE -e "$p" && echo "FOUND env"`,
    `find / \\( ${prune} \\) -prune -o -type f -size -64M -readable -print0 2>/dev/null | xargs -0 -r grep -alE -e "$p" 2>/dev/null | sed 's/^/FOUND /'`,
    `for d in $(find / \\( ${prune} \\) -prune -o -name .git -print 2>/dev/null); do git --git-dir="$d" config --list 2>/dev/null | grep -qE -e "$p" && echo "FOUND git config $d"; done`,
    `echo "LOOKED $(ls -d /proc/[0-9]* | wc -l) $(find / \\( ${prune} \\) -prune -o -type f -readable -print 2>/dev/null | wc -l)"`,
  ].join("\n");
};

export interface Hunt {
  /** Where a secret was found, with its name. */
  readonly found: readonly string[];
  readonly processes: number;
  readonly files: number;
}

export async function huntKeys(server: TestServer, sandboxId: string, secrets: Secrets): Promise<Hunt> {
  let looked: readonly string[] = [];
  const found: string[] = [];
  const database = server.deps.config.databaseUrl;
  for (const [name, secret] of Object.entries({ ...secrets, ...(database === undefined ? {} : { database }) })) {
    const script = toScript(toForms(secret).map(toPattern).join("|"));
    const { status, body, text } = await server.call("POST", `/sandboxes/${sandboxId}/exec`, {
      body: { argv: ["sh", "-c", script], timeout_s: 120 },
    });
    if (status !== 200) throw new Error(`look into the sandbox: ${status} ${text}`);
    const lines = String(body.stdout).split("\n");
    found.push(...lines.filter((line) => line.startsWith("FOUND ")).map((line) => `${name}: ${line.slice(6)}`));
    looked = lines.find((line) => line.startsWith("LOOKED "))?.split(" ") ?? [];
  }
  return { found, processes: Number(looked[1] ?? 0), files: Number(looked[2] ?? 0) };
}
