/** A credential that is sent to somebody else in a header, where other characters cannot stand. */
import { z } from "zod";

export const HeaderWord = z
  .string()
  .min(1)
  .regex(/^[\x21-\x7e]+$/, "must be one word of printable characters");
