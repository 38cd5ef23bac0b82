/** Whose models an agent asks, where it asks those of one vendor. */
export const VENDOR_OF: Readonly<Record<string, "anthropic" | "openai" | "gemini">> = {
  claude: "anthropic",
  "claude-acp": "anthropic",
  codex: "openai",
  gemini: "gemini",
};
export const VENDORS = { anthropic: "Anthropic", openai: "OpenAI", gemini: "Google" } as const;
