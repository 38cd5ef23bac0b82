/** Live events in a component. */
import type { EventFilter, EventFrame } from "@drover/contract";
import { useEffect, useMemo, useSyncExternalStore } from "react";
import { EventFeed, type EventFeedOptions } from "../event-feed.ts";
import type { StreamState } from "../stream-state.ts";
import { useClient } from "./provider.ts";

export interface Events {
  /** Oldest first, the newest up to the limit. */
  readonly events: readonly EventFrame[];
  readonly state: StreamState;
  /** Given keys replace, an empty list clears; applies to what comes. */
  readonly updateFilters: (change: EventFilter) => void;
  readonly clearEvents: () => void;
}

/** Every matching event once, in order, through reconnects. A filter that changes applies to what comes. */
export function useEvents(filter: EventFilter = {}, options: EventFeedOptions = {}): Events {
  const { openStream } = useClient();
  const { limit, afterSeq } = options;
  const wanted = JSON.stringify(filter);
  const feed = useMemo(() => new EventFeed(openStream, { limit, afterSeq }), [openStream, limit, afterSeq]);
  // Before the subscription below, so that the stream opens with its filter.
  useEffect(() => feed.setFilter(JSON.parse(wanted) as EventFilter), [feed, wanted]);
  const { events, state } = useSyncExternalStore(feed.subscribe, feed.getSnapshot, feed.getSnapshot);
  return { events, state, updateFilters: feed.updateFilters, clearEvents: feed.clearEvents };
}

/** Events about one thing: a sandbox, a task, a ticket. */
export const useEntityEvents = (entityType: string, entityId: string, options?: EventFeedOptions): Events =>
  useEvents({ entity_types: [entityType], entity_ids: [entityId] }, options);

/** Events of these types, whatever they are about. */
export const useEventTypes = (types: readonly string[], options?: EventFeedOptions): Events =>
  useEvents({ event_types: [...types] }, options);
