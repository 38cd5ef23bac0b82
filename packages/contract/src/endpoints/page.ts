/** Lists page by cursor: what a query may say about it, and the shape of a page. */
import { z } from "zod";

export const page = <T extends z.ZodType>(item: T) =>
  z.object({ items: z.array(item), next_cursor: z.string().nullable() });

export const Paging = {
  limit: z.coerce.number().int().min(1).max(500).default(100),
  cursor: z.string().min(1).max(200).optional(),
};
