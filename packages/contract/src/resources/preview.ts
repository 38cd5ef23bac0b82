/** A port of a sandbox, opened in a browser at an origin of its own. */
import { z } from "zod";
import { Timestamp } from "../time.ts";

const DEFAULT_PORT = 3_000;
/** The sandbox's own way out listens there. */
const OWN_PORT = 3_128;

export const NewPreview = z.strictObject({
  port: z
    .int()
    .min(1)
    .max(65_535)
    .refine((port) => port !== OWN_PORT, "is the sandbox's own way out")
    .default(DEFAULT_PORT),
});
export type NewPreview = z.infer<typeof NewPreview>;

export const Preview = z.object({
  /** Opens the preview once, in one browser, within `expires_at`. */
  url: z.url(),
  origin: z.url(),
  port: z.int(),
  /** Whether something listens there now. */
  is_answering: z.boolean(),
  expires_at: Timestamp,
});
export type Preview = z.infer<typeof Preview>;
