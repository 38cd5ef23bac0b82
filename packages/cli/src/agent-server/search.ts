/** What is asked of conversations and of their events: filters and pages as the published API has them. */
import { z } from "zod";
import { type Conversation, Refusal } from "./conversation.ts";
import type { LogEvent } from "./wire.ts";

const Paging = {
  limit: z.coerce.number().int().min(1).max(100).default(100),
  page_id: z.string().optional(),
};
/** Without a zone it is in UTC, as everything here. */
const Moment = z
  .string()
  .transform((text) => Date.parse(/[Tt ].*(?:[Zz]|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text}Z`))
  .refine((ms) => !Number.isNaN(ms), "is no time");

const EventSearch = z.object({
  ...Paging,
  kind: z.string().optional(),
  source: z.string().optional(),
  body: z.string().optional(),
  timestamp__gte: Moment.optional(),
  timestamp__lt: Moment.optional(),
  sort_order: z.enum(["TIMESTAMP", "TIMESTAMP_DESC"]).default("TIMESTAMP"),
});

const ConversationSearch = z.object({
  ...Paging,
  status: z.string().optional(),
  sort_order: z.enum(["CREATED_AT", "UPDATED_AT", "CREATED_AT_DESC", "UPDATED_AT_DESC"]).default("CREATED_AT_DESC"),
});

export function parse<T extends z.ZodType>(schema: T, value: unknown): z.infer<T> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Refusal(422, `${issue?.path.join(".") || "body"}: ${issue?.message ?? "is not valid"}`);
}

function toPage<Item extends { readonly id: string }>(all: readonly Item[], limit: number, pageId: string | undefined) {
  const start = pageId === undefined ? 0 : all.findIndex(({ id }) => id === pageId);
  if (start < 0) throw new Refusal(422, "page_id: is not the id of an item of this list");
  return { items: all.slice(start, start + limit), next_page_id: all[start + limit]?.id ?? null };
}

/** What people and agents said and did, without the names of fields. */
const toWords = (value: unknown): string =>
  typeof value === "string"
    ? value
    : typeof value === "object" && value !== null
      ? Object.values(value).map(toWords).join("\n")
      : "";

export function searchEvents(events: readonly LogEvent[], given: unknown) {
  const query = parse(EventSearch, given);
  const words = query.body?.toLowerCase();
  const isWanted = (event: LogEvent) => {
    const atMs = Date.parse(event.timestamp);
    return (
      (query.kind === undefined || event.kind === query.kind || event.kind === query.kind.split(".").at(-1)) &&
      (query.source === undefined || event.source === query.source) &&
      (query.timestamp__gte === undefined || atMs >= query.timestamp__gte) &&
      (query.timestamp__lt === undefined || atMs < query.timestamp__lt) &&
      (words === undefined || toWords(event["llm_message"]).toLowerCase().includes(words))
    );
  };
  const found = events.filter(isWanted);
  const ordered = query.sort_order === "TIMESTAMP" ? found : found.toReversed();
  return { page: toPage(ordered, query.limit, query.page_id), count: found.length };
}

export function searchConversations(all: Iterable<Conversation>, given: unknown) {
  const query = parse(ConversationSearch, given);
  const by = query.sort_order.startsWith("CREATED_AT") ? "created_at" : "updated_at";
  const sign = query.sort_order.endsWith("_DESC") ? -1 : 1;
  const found = Array.from(all, (one) => one.toInfo())
    .filter((one) => query.status === undefined || [one.execution_status, one.status].includes(query.status))
    .toSorted((a, b) => sign * (a[by] < b[by] ? -1 : Number(a[by] > b[by])));
  return { page: toPage(found, query.limit, query.page_id), count: found.length };
}
