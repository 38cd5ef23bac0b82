/** Settings of the providers that run sandboxes elsewhere. */
import { z } from "zod";
import type { Option } from "./options.ts";

const optionalText = z.string().min(1).optional();

export const PROVIDER_OPTIONS = {
  remoteUrl: {
    env: "DROVER_REMOTE_URL",
    yaml: "remote.url",
    schema: z.url({ protocol: /^https?$/ }).optional(),
    doc: "The other Drover that runs the sandboxes of provider remote.",
  },
  remoteToken: {
    env: "DROVER_REMOTE_TOKEN",
    yaml: "remote.token",
    schema: optionalText,
    doc: "A token of the other Drover: an operator of all projects there.",
    secret: true,
  },
} as const satisfies Record<string, Option>;
