/** Settings of the providers that run sandboxes elsewhere, and of what is seen of sandboxes in a browser. */
import { z } from "zod";
import type { Option } from "./options.ts";

const optionalText = z.string().min(1).optional();

export const PROVIDER_OPTIONS = {
  previewHost: {
    env: "DROVER_PREVIEW_HOST",
    yaml: "preview.host",
    schema: z
      .string()
      .toLowerCase()
      .regex(/^[a-z0-9-]+(?:\.[a-z0-9-]+)+$/, "is no host name"),
    fallback: "preview.localhost",
    doc: "The name below which previews of sandboxes are seen, each at one of its own; all of them must lead to this server.",
  },
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
