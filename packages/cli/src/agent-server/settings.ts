/** Settings of the agent server: flags > environment > its JSON file > defaults. A key that nobody knows is an error. */
import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { z } from "zod";
import { UsageError } from "../exit-code.ts";

const WebhookSettings = z.strictObject({
  webhook_url: z.url({ protocol: /^https?$/ }),
  method: z.enum(["POST", "PUT", "PATCH"]).default("POST"),
  event_buffer_size: z.int().min(1).max(1_000).default(10),
  num_retries: z.int().min(0).max(20).default(3),
  retry_delay: z.number().min(0).max(3_600).default(5),
  headers: z.record(z.string(), z.string()).default({}),
  /** `whsec_...`: what is sent is signed with it, as Standard Webhooks has it. */
  secret: z
    .string()
    .regex(/^whsec_[A-Za-z0-9+/]+={0,2}$/)
    .optional(),
});
export type WebhookSettings = z.infer<typeof WebhookSettings>;

const File = z.strictObject({
  session_api_key: z.string().min(8).nullable().optional(),
  allow_cors_origins: z.array(z.string()).default([]),
  conversations_path: z.string().default("workspace/conversations"),
  webhooks: z
    .array(WebhookSettings)
    .max(20)
    .refine((all) => new Set(all.map((one) => one.webhook_url)).size === all.length, "two go to the same address")
    .default([]),
});

export interface AgentServerSettings {
  readonly host: string;
  readonly port: number;
  readonly key: string | undefined;
  readonly corsOrigins: readonly string[];
  readonly directory: string;
  readonly webhooks: readonly WebhookSettings[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

const LOOPBACK: ReadonlySet<string> = new Set(["127.0.0.1", "::1", "localhost"]);
const VERB = "agent-server";
/** In the working directory. */
const USUAL_FILE = "agent_server.json";

function readFile(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    // Expected: a mistyped path, or a file that is no JSON.
    throw new UsageError(`${path} cannot be read (${error instanceof Error ? error.message : String(error)})`, VERB);
  }
}

function parsePort(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new UsageError(`--port takes a number from 0 to 65535, not ${JSON.stringify(text)}`, VERB);
}

export function resolveSettings(
  given: { readonly host?: string | undefined; readonly port?: string | undefined; readonly file?: string | undefined },
  env: Readonly<Record<string, string | undefined>>,
  cwd: string,
): AgentServerSettings {
  const usual = existsSync(resolve(cwd, USUAL_FILE)) ? USUAL_FILE : undefined;
  const path = given.file ?? (env["OPENHANDS_AGENT_SERVER_CONFIG_PATH"] || usual);
  const parsed = File.safeParse(path === undefined ? {} : readFile(resolve(cwd, path)));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const unknown = issue?.code === "unrecognized_keys" ? `${issue.keys.join(", ")} is not known` : issue?.message;
    throw new UsageError(`${path}: ${[issue?.path.join("."), unknown].filter(Boolean).join(": ")}`, VERB);
  }
  const host = given.host ?? (env["AGENT_SERVER_HOST"] || "127.0.0.1");
  const key = (env["AGENT_SERVER_API_KEY"] || undefined) ?? parsed.data.session_api_key ?? undefined;
  if (key === undefined && !LOOPBACK.has(host))
    throw new UsageError(
      `who reaches ${host} could run commands here: set AGENT_SERVER_API_KEY, or session_api_key in the file`,
      VERB,
    );
  return {
    host: host === "localhost" ? "127.0.0.1" : host,
    port: parsePort(given.port ?? (env["AGENT_SERVER_PORT"] || "8000")),
    key,
    corsOrigins: parsed.data.allow_cors_origins,
    directory: resolve(cwd, parsed.data.conversations_path),
    webhooks: parsed.data.webhooks,
    env,
  };
}
