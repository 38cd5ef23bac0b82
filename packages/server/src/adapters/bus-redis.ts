/** Hints between replicas over Redis pub/sub: channel `events.{event_type}`, payload the event's frame. */
import { Redis } from "ioredis";
import type { Bus } from "../ports/bus.ts";
import type { Log } from "../ports/log.ts";

const RETRY_LIMIT_MS = 2_000;

export function openRedisBus(url: string, log: Log): Bus {
  // Never queue while away: a late hint is worth nothing, and tails re-read the store by themselves.
  const options = {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 5_000,
    retryStrategy: (attempt: number) => Math.min(attempt * 100, RETRY_LIMIT_MS),
  };
  const publisher = new Redis(url, options);
  const subscriber = new Redis(url, { ...options, autoResubscribe: false });
  const listeners = new Set<() => void>();
  const ring = () => {
    for (const listener of listeners) listener();
  };
  let isSubscribed = false;
  for (const [role, connection] of [
    ["publisher", publisher],
    ["subscriber", subscriber],
  ] as const) {
    connection.on("error", (error: Error) => log.warn("bus.error", { role, reason: error.message }));
  }
  subscriber.on("ready", () => {
    subscriber.psubscribe("events.*").then(
      () => {
        isSubscribed = true;
        // What was published while we were away is in the store: look there once.
        ring();
      },
      (error: unknown) => log.warn("bus.subscribe_failed", { reason: String(error) }),
    );
  });
  subscriber.on("close", () => {
    isSubscribed = false;
  });
  subscriber.on("pmessage", ring);
  return {
    publish: (messages) => {
      if (publisher.status !== "ready" || messages.length === 0) return;
      const pipeline = publisher.pipeline();
      for (const { eventType, json } of messages) pipeline.publish(`events.${eventType}`, json);
      pipeline.exec().catch((error: unknown) => log.warn("bus.publish_failed", { reason: String(error) }));
    },
    onHint: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    isUp: () => isSubscribed && publisher.status === "ready",
    close: async () => {
      listeners.clear();
      publisher.disconnect();
      subscriber.disconnect();
    },
  };
}
