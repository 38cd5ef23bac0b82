/** Settings of what agent servers tell. */
import { z } from "zod";
import type { Option } from "./options.ts";

const SECRETS = /^whsec_[A-Za-z0-9+/]{16,}={0,2}(?:,whsec_[A-Za-z0-9+/]{16,}={0,2})*$/;

export const AGENT_SERVER_OPTIONS = {
  agentEventsSecret: {
    env: "DROVER_AGENT_EVENTS_SECRET",
    yaml: "agent_server.events_secret",
    schema: z.string().regex(SECRETS, "is whsec_ and base64, several with commas between").optional(),
    doc: "Checks webhooks of agent servers (`whsec_...`, several with commas between); without it they are refused.",
    secret: true,
  },
  agentEventsProject: {
    env: "DROVER_AGENT_EVENTS_PROJECT",
    yaml: "agent_server.events_project",
    schema: z.string().min(1).optional(),
    doc: "The id of the project that their conversations belong to; the default project unless set.",
  },
  agentEventsGapSeconds: {
    env: "DROVER_AGENT_EVENTS_GAP_SECONDS",
    yaml: "agent_server.events_gap_seconds",
    schema: z.coerce.number().positive(),
    fallback: "60",
    doc: "How long what came too early waits for what is missing; then the log says what is missing and goes on.",
  },
  agentServerUrl: {
    env: "DROVER_AGENT_SERVER_URL",
    aliases: ["WORKSPACE_REMOTE_HOST"],
    yaml: "agent_server.url",
    schema: z.url({ protocol: /^https?$/ }).optional(),
    doc: "The agent server that is asked for events which its webhooks did not bring, and that direct runs with `remote` work on.",
  },
  agentServerKey: {
    env: "DROVER_AGENT_SERVER_KEY",
    aliases: ["WORKSPACE_REMOTE_API_KEY"],
    yaml: "agent_server.session_api_key",
    schema: z.string().min(1).optional(),
    doc: "The agent server's session key.",
    secret: true,
  },
} as const satisfies Record<string, Option>;
