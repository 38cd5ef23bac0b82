/** Settings of archives. */
import { z } from "zod";
import type { Option } from "./options.ts";

export const ARCHIVE_OPTIONS = {
  archiveLimitMb: {
    env: "DROVER_ARCHIVE_LIMIT_MB",
    yaml: "archive.limit_mb",
    schema: z.coerce.number().positive(),
    fallback: "2048",
    doc: "An archive that is larger is not imported.",
  },
} as const satisfies Record<string, Option>;
