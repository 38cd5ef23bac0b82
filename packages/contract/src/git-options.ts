/** Settings of Git hosts. */
import { z } from "zod";
import type { Option } from "./options.ts";

const secretText = z.string().min(1).optional();
const address = z.url({ protocol: /^https?$/ });

export const GIT_OPTIONS = {
  gitPushLimitMb: {
    env: "DROVER_GIT_PUSH_LIMIT_MB",
    yaml: "git.push_limit_mb",
    schema: z.coerce.number().positive(),
    fallback: "500",
    doc: "A push that is larger is refused.",
  },
  githubToken: {
    env: "GITHUB_TOKEN",
    yaml: "git.github_token",
    schema: secretText,
    doc: "For GitHub where neither the person nor the project has a token; sandboxes never see it.",
    secret: true,
  },
  githubApiUrl: {
    env: "GITHUB_API_URL",
    yaml: "git.github_api_url",
    schema: address,
    fallback: "https://api.github.com",
    doc: "GitHub's API; another one for GitHub Enterprise.",
  },
  githubUrl: {
    env: "GITHUB_URL",
    yaml: "git.github_url",
    schema: address,
    fallback: "https://github.com",
    doc: "Where repositories of GitHub are cloned from.",
  },
  githubWebhookSecret: {
    env: "GITHUB_WEBHOOK_SECRET",
    yaml: "git.github_webhook_secret",
    schema: secretText,
    doc: "Checks the signature of webhooks of projects that have no secret of their own; without either they are refused.",
    secret: true,
  },
} as const satisfies Record<string, Option>;
