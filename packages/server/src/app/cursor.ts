/** Cursors of lists are ids of their items; anything else is refused. */
import { AppError } from "@drover/contract";
import { z } from "zod";

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

const Position = z
  .string()
  .regex(/^\d{1,15}$/)
  .transform(Number);

/** Of a list whose items have a position: where the page before ended. */
export const parsePosition = (cursor: string | undefined): number | undefined => parseCursor(Position, cursor);

/** One row more than asked for says that there is a next page. */
export function toPage<Row extends { readonly position: number }, Item>(
  rows: readonly Row[],
  limit: number,
  toItem: (row: Row) => Item,
): { items: Item[]; next_cursor: string | null } {
  const items = rows.slice(0, limit);
  return {
    items: items.map(toItem),
    next_cursor: rows.length > limit ? String(items.at(-1)?.position ?? "") : null,
  };
}
