/** The log of a conversation, asked of an agent server over HTTP. */
import { AppError } from "@drover/contract";
import { z } from "zod";
import type { ConversationSource } from "../ports/conversation-source.ts";

const TIME_LIMIT_MS = 10_000;
const PAGE = 100;

const Page = z.looseObject({ items: z.array(z.looseObject({ id: z.string() })) });

export function openConversationSource(url: string, key: string | undefined): ConversationSource {
  const base = url.replace(/\/+$/, "");
  return {
    listAfter: async (conversationId, eventId, signal) => {
      const query = new URLSearchParams({ limit: String(PAGE), ...(eventId === null ? {} : { page_id: eventId }) });
      const answer = await fetch(`${base}/api/conversations/${conversationId}/events/search?${query}`, {
        headers: key === undefined ? {} : { "x-session-api-key": key },
        redirect: "error",
        signal: AbortSignal.any([signal, AbortSignal.timeout(TIME_LIMIT_MS)]),
      });
      if (answer.status === 404 || answer.status === 422) return undefined;
      if (!answer.ok) throw new AppError("server.not_ready", `the agent server answered ${answer.status}`);
      const { items } = Page.parse(await answer.json());
      // A page begins with the event that it is named after.
      return eventId === null ? items : items.slice(1);
    },
  };
}
