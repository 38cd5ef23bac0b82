/** Times on the wire are UTC ISO-8601 strings. */
import { z } from "zod";

export const Timestamp = z.iso.datetime();
export type Timestamp = z.infer<typeof Timestamp>;
