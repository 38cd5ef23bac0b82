/** An agent server that is asked for what its webhooks did not bring. */

/** Contract: the events that stand in the conversation's log after the given one, in order, at most some hundreds; all from the
 *  first when none is given. Undefined when the server does not know the conversation or the event. Rejects when it does not answer. */
export interface ConversationSource {
  listAfter(
    conversationId: string,
    eventId: string | null,
    signal: AbortSignal,
  ): Promise<readonly unknown[] | undefined>;
}
