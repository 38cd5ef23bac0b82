/** Cursors of lists are ids of their items; anything else is refused. */
import { AppError } from "@drover/contract";
import type { z } from "zod";

export const refuseCursor = () =>
  new AppError("request.invalid", "the cursor is not one of ours", {
    fields: [{ path: "cursor", message: "is not a cursor of this list" }],
  });

export function parseCursor<T extends z.ZodType>(id: T, cursor: string | undefined): z.infer<T> | undefined {
  if (cursor === undefined) return undefined;
  const parsed = id.safeParse(cursor);
  if (!parsed.success) throw refuseCursor();
  return parsed.data;
}
