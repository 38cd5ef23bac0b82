/** The socket of a terminal: binary frames are its bytes, both ways; text frames are these. */
import { z } from "zod";

const Columns = z.coerce.number().int().min(1).max(1_000);

export const TerminalQuery = z.object({
  columns: Columns.default(80),
  rows: Columns.default(24),
  ticket: z.string().max(500).optional(),
});
export type TerminalQuery = z.infer<typeof TerminalQuery>;

export const TerminalResize = z.looseObject({
  type: z.literal("resize"),
  columns: z.int().min(1).max(1_000),
  rows: z.int().min(1).max(1_000),
});

/** `ready`: what is typed from now on reaches the shell. `exit`: it has ended, and the socket closes with 1000. */
export const TerminalServerFrame = z.union([
  z.looseObject({ type: z.literal("ready") }),
  z.looseObject({ type: z.literal("exit"), code: z.int().nullable() }),
  z.looseObject({ error: z.string() }),
]);
export type TerminalServerFrame = z.infer<typeof TerminalServerFrame>;
