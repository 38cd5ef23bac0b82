/** Buckets that replicas share in Redis: per kind one hash of buckets and one order of when each is full again, where it is forgotten. */
import { createHash } from "node:crypto";
import { Redis, type Result } from "ioredis";
import type { BucketKind, Buckets, OwnBuckets } from "../ports/buckets.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";

/** Nobody's request waits longer for another's count. */
const ANSWER_MS = 250;
/** One that did not answer is not asked meanwhile: requests do not wait one after another. */
const AWAY_MS = 1_000;
const RETRY_LIMIT_MS = 2_000;
/** Of each kind, in all replicas together. */
const REMEMBERED = 20_000;
/** Full ones that one call looks for and forgets: more than it adds, so that they get fewer. */
const SWEPT = 8;

/** `takeTokens` of core by Redis' own clock, in one step that nobody comes between. Tokens are kept as text: Lua's numbers would lose their fraction on the way
 *  out. When too many are kept, those go first that have least to remember: the ones that are nearest to full. */
const TAKE = `
local buckets, order, id = KEYS[1], KEYS[2], ARGV[1]
local perSecond, burst, units = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local remembered, swept = tonumber(ARGV[5]), tonumber(ARGV[6])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local forget = redis.call('ZRANGEBYSCORE', order, '-inf', now, 'LIMIT', 0, swept)
local over = redis.call('ZCARD', order) - remembered
if over > #forget then forget = redis.call('ZRANGE', order, 0, math.min(over, swept) - 1) end
if #forget > 0 then
  redis.call('HDEL', buckets, unpack(forget))
  redis.call('ZREM', order, unpack(forget))
end
local tokens = burst
local kept = redis.call('HGET', buckets, id)
if kept then
  local text, at = string.match(kept, '^(%S+) (%S+)$')
  tokens = math.min(burst, tonumber(text) + math.max(0, now - tonumber(at)) / 1000 * perSecond)
end
local needed = math.min(units, burst)
local wait = 0
if tokens >= needed then
  tokens = tokens - units
else
  wait = math.max(1, math.ceil((needed - tokens) / perSecond))
end
local fullMs = math.max(0, math.ceil((burst - tokens) / perSecond * 1000))
redis.call('HSET', buckets, id, string.format('%.6f %.0f', tokens, now))
redis.call('ZADD', order, now + fullMs, id)
local last = redis.call('ZRANGE', order, -1, -1, 'WITHSCORES')
local untilMs = string.format('%.0f', math.max(1, tonumber(last[2]) - now + 1000))
redis.call('PEXPIRE', buckets, untilMs)
redis.call('PEXPIRE', order, untilMs)
return wait
`;

declare module "ioredis" {
  interface RedisCommander<Context> {
    takeTokens(...args: readonly (string | number)[]): Result<number, Context>;
  }
}

export interface RedisBucketsOptions {
  readonly url: string;
  /** Whose they are: several installations may use one Redis. */
  readonly installation: string;
  readonly own: OwnBuckets;
  readonly clock: Clock;
  readonly log: Log;
}

const toId = (key: string): string => createHash("sha256").update(key).digest("base64url").slice(0, 22);

export function openRedisBuckets({ url, installation, own, clock, log }: RedisBucketsOptions): Buckets {
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 5_000,
    commandTimeout: ANSWER_MS,
    retryStrategy: (attempt: number) => Math.min(attempt * 100, RETRY_LIMIT_MS),
  });
  redis.defineCommand("takeTokens", { numberOfKeys: 2, lua: TAKE });
  let awayUntilMs = 0;
  let isTogether = true;
  const tellAlone = (reason: string) => {
    if (isTogether) log.warn("limits.counted_alone", { reason });
    isTogether = false;
  };
  redis.on("error", (error: Error) => tellAlone(error.message));

  /** Undefined where Redis did not say. */
  const ask = async (kind: BucketKind, key: string, units: number): Promise<number | undefined> => {
    if (redis.status !== "ready" || clock.now().getTime() < awayUntilMs) return undefined;
    const name = `drover:{${installation}:${kind.name}}`;
    const { perSecond, burst } = kind;
    const rule = [perSecond, burst, units, REMEMBERED, SWEPT];
    return redis.takeTokens(`${name}:buckets`, `${name}:order`, toId(key), ...rule).then(
      (wait) => {
        if (!isTogether) log.info("limits.counted_together");
        isTogether = true;
        return wait;
      },
      (error: unknown) => {
        // Expected: it went away, is too slow, or may not run scripts. The decision of this process stands.
        awayUntilMs = clock.now().getTime() + AWAY_MS;
        tellAlone(String(error));
        return undefined;
      },
    );
  };
  return {
    take: async (kind, key, units) => {
      // Who takes too much of this process alone takes too much of all, and what was counted here holds while Redis is away.
      const here = own.takeNow(kind, key, units);
      if (!here.ok) return here;
      const wait = await ask(kind, key, units);
      if (wait === undefined || wait === 0) return here;
      own.takeNow(kind, key, -units);
      return { ok: false, retryAfterSeconds: wait };
    },
    close: async () => redis.disconnect(),
  };
}
