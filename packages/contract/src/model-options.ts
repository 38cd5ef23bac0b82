/** Settings of models: where their calls go, what they may cost, what is recorded. */
import { z } from "zod";
import type { Option } from "./options.ts";

const address = z.url({ protocol: /^https?$/ }).optional();
const secretText = z.string().min(1).optional();

export const MODEL_OPTIONS = {
  anthropicBaseUrl: {
    env: "ANTHROPIC_BASE_URL",
    yaml: "models.anthropic_base_url",
    schema: address,
    doc: "Where Anthropic Messages calls go; Anthropic's own address when only a key is set.",
  },
  anthropicApiKey: {
    env: "ANTHROPIC_API_KEY",
    yaml: "models.anthropic_api_key",
    schema: secretText,
    doc: "Key for Anthropic; sandboxes never see it.",
    secret: true,
  },
  anthropicAuthToken: {
    env: "ANTHROPIC_AUTH_TOKEN",
    yaml: "models.anthropic_auth_token",
    schema: secretText,
    doc: "Bearer token in place of the key, for services such as Z.AI.",
    secret: true,
  },
  openaiBaseUrl: {
    env: "OPENAI_BASE_URL",
    yaml: "models.openai_base_url",
    schema: address,
    doc: "Where OpenAI Responses and chat completions go; OpenAI's own address when only a key is set.",
  },
  openaiApiKey: {
    env: "OPENAI_API_KEY",
    yaml: "models.openai_api_key",
    schema: secretText,
    doc: "Key for OpenAI; sandboxes never see it.",
    secret: true,
  },
  geminiBaseUrl: {
    env: "GOOGLE_GEMINI_BASE_URL",
    yaml: "models.gemini_base_url",
    schema: address,
    doc: "Where Gemini calls go; Google's own address when only a key is set.",
  },
  geminiApiKey: {
    env: "GEMINI_API_KEY",
    aliases: ["GOOGLE_API_KEY"],
    yaml: "models.gemini_api_key",
    schema: secretText,
    doc: "Key for Gemini; sandboxes never see it.",
    secret: true,
  },
  modelAllow: {
    env: "DROVER_MODEL_ALLOW",
    yaml: "models.allow",
    schema: z.string().min(1).optional(),
    doc: "Models that sandboxes may use, separated by commas; * stands for anything. All when unset.",
  },
  modelBodyMb: {
    env: "DROVER_MODEL_BODY_MB",
    yaml: "models.body_mb",
    schema: z.coerce.number().positive().max(512),
    fallback: "32",
    doc: "The largest model request in MiB.",
  },
  modelRequestSilenceSeconds: {
    env: "DROVER_MODEL_REQUEST_SILENCE_SECONDS",
    yaml: "models.request_silence_seconds",
    schema: z.coerce.number().positive().max(100),
    fallback: "30",
    doc: "How long the next piece of a model request may take to come, before it is refused.",
  },
  modelSilenceSeconds: {
    env: "DROVER_MODEL_SILENCE_SECONDS",
    yaml: "models.silence_seconds",
    schema: z.coerce.number().positive().max(86_400),
    fallback: "600",
    doc: "How long a vendor may say nothing, before its first word or between two, until the call is given up. Models think for minutes.",
  },
  budgetWarnShare: {
    env: "DROVER_BUDGET_WARN_SHARE",
    yaml: "models.budget_warn_share",
    schema: z.coerce.number().min(0.01).max(1),
    fallback: "0.8",
    doc: "The share of a sandbox's budget at which people are warned.",
  },
  cassette: {
    env: "DROVER_CASSETTE",
    yaml: "models.cassette",
    schema: z.string().min(1).optional(),
    doc: "File to record model calls to, or to answer them from, as DROVER_CASSETTE_MODE says. Recordings hold what models said; keys and headers are left out.",
  },
  cassetteMode: {
    env: "DROVER_CASSETTE_MODE",
    yaml: "models.cassette_mode",
    schema: z.enum(["record", "replay"]),
    fallback: "replay",
    doc: "What happens with DROVER_CASSETTE.",
  },
} as const satisfies Record<string, Option>;
