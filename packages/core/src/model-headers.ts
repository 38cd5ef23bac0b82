/** Which headers pass between an agent and a vendor. All others stay where they are: they name people, keys and connections. */
import type { ModelProtocol } from "./model-route.ts";

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

const TO_VENDOR =
  /^(?:accept|content-type|user-agent|anthropic-(?:version|beta)|openai-beta|x-stainless-[a-z-]+|x-goog-api-client|x-app|x-claude-code-session-id|originator|session_id|conversation_id)$/;
const TO_AGENT =
  /^(?:content-type|retry-after|retry-after-ms|request-id|x-should-retry|openai-processing-ms|openai-version|openai-model|(?:anthropic|x)-ratelimit-[a-z0-9-]+)$/;

const pass = (headers: Headers, allowed: RegExp): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value !== undefined && allowed.test(name) ? [[name, typeof value === "string" ? value : value.join(", ")]] : [],
    ),
  );

export interface VendorKey {
  readonly key: string | undefined;
  /** Sent as `Authorization: Bearer`, where the vendor knows another way too. */
  readonly isBearer: boolean;
}

function toCredential(protocol: ModelProtocol, { key, isBearer }: VendorKey): Record<string, string> {
  if (key === undefined) return {};
  if (protocol === "openai" || isBearer) return { authorization: `Bearer ${key}` };
  return protocol === "anthropic" ? { "x-api-key": key } : { "x-goog-api-key": key };
}

export const toVendorHeaders = (protocol: ModelProtocol, headers: Headers, key: VendorKey): Record<string, string> => ({
  ...(protocol === "anthropic" ? { "anthropic-version": "2023-06-01" } : {}),
  ...pass(headers, TO_VENDOR),
  // Usage is read from the answer as it passes.
  "accept-encoding": "identity",
  ...toCredential(protocol, key),
});

/** What the vendor says about itself and its limits. Its request's name is told beside ours. */
export const toAgentHeaders = (headers: Headers): Record<string, string> => pass(headers, TO_AGENT);

/** A query of an agent without the keys that some clients put there. */
export const toVendorQuery = (query: string): string =>
  query
    .split("&")
    .filter((part) => part !== "" && !/^(?:key|api_key|access_token|token)(?:=|$)/i.test(part))
    .join("&");
