/** What the server says to the supervisor inside a sandbox, and what comes back: one connection per request.
 *
 *  Every frame is a type (1 byte), a length (4 bytes, big-endian) and that many bytes. The first frame of a connection is the
 *  request. The supervisor stands next to hostile code: whatever it answers is a claim. */
import { z } from "zod";

export * from "./control-frame.ts";

const Argv = z.array(z.string()).min(1);
const Env = z.record(z.string(), z.string());
const Size = z.object({ columns: z.int().min(1).max(1_000), rows: z.int().min(1).max(1_000) });

export const ControlRequest = z.discriminatedUnion("op", [
  z.object({
    op: z.literal("exec"),
    argv: Argv,
    cwd: z.string().optional(),
    env: Env.optional(),
    terminal: Size.optional(),
    /** Goes on after the connection is gone; its end is told by `status`. */
    is_detached: z.boolean().optional(),
  }),
  z.object({ op: z.literal("read"), path: z.string(), limit: z.int().positive() }),
  z.object({ op: z.literal("write"), path: z.string(), mode: z.int().optional() }),
  z.object({ op: z.literal("list"), path: z.string() }),
  z.object({ op: z.literal("status") }),
  /** Becomes the bytes of a connection to this port of the loopback; the first frame of the answer is empty. */
  z.object({ op: z.literal("connect"), port: z.int().min(1).max(65_535) }),
]);
export type ControlRequest = z.infer<typeof ControlRequest>;

/** How a request ended. `code` and `signal` are those of a process; everything else ends with code 0. */
export const ControlExit = z.object({ code: z.int().nullable(), signal: z.string().nullable() });
export type ControlExit = z.infer<typeof ControlExit>;

export const ControlRefusal = z.object({ code: z.string(), message: z.string() });
export const ControlResize = Size;

export const ControlFileEntry = z.object({
  name: z.string(),
  kind: z.enum(["file", "directory", "symlink", "other"]),
  size: z.number(),
  modified_ms: z.number(),
});

/** Processes that were started detached. */
export const ControlStatus = z.object({
  processes: z.array(z.object({ argv: Argv, exit: ControlExit.nullable() })),
});
export type ControlStatus = z.infer<typeof ControlStatus>;
