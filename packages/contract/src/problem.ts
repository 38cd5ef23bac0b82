/** How a refusal looks on the wire: RFC 9457. */
import { z } from "zod";

export const Problem = z.looseObject({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  errors: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
  request_id: z.string(),
});
export type Problem = z.infer<typeof Problem>;
