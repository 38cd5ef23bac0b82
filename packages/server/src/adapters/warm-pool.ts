/** Sandboxes that stand ready before anybody asks: made in the background, each given away once, all ended with the server. */
import type { Log } from "../ports/log.ts";

/** Until another one is made in place of one that was taken: whoever took it has the machine to itself first. */
const REFILL_MS = 300;
/** A ready sandbox is looked after this often: one that nobody speaks to for long ends by itself. */
const TEND_MS = 10 * 60 * 1_000;

export interface WarmPoolOptions<Spec, Warm> {
  /** How many stand ready. */
  readonly size: number;
  /** Of the first ones; later ones have the shape that was asked for last. */
  readonly first: Spec;
  /** Equal for specs that the same ready sandbox serves; undefined for those that none can serve. */
  readonly toShape: (spec: Spec) => string | undefined;
  /** Makes one that belongs to nobody. */
  readonly make: (spec: Spec, signal: AbortSignal) => Promise<Warm>;
  /** Whether it can still be used; asking also keeps it. `isTaken`: somebody waits for it. */
  readonly isReady: (warm: Warm, signal: AbortSignal, isTaken: boolean) => Promise<boolean>;
  readonly discard: (warm: Warm) => Promise<void>;
  readonly log: Log;
}

/** Contract: `take` never waits for one to be made; what it gives is the caller's, to use or to discard. */
export interface WarmPool<Spec, Warm> {
  take(spec: Spec, signal: AbortSignal): Promise<Warm | undefined>;
  close(): Promise<void>;
}

export function openWarmPool<Spec, Warm>(options: WarmPoolOptions<Spec, Warm>): WarmPool<Spec, Warm> {
  const { log, make, discard, isReady, toShape } = options;
  const stopping = new AbortController();
  let ready: { readonly warm: Warm; readonly shape: string }[] = [];
  let wanted: { readonly spec: Spec; readonly shape: string } | undefined;
  let work: Promise<void> = Promise.resolve();

  const want = (spec: Spec) => {
    const shape = toShape(spec);
    if (shape !== undefined) wanted = { spec, shape };
  };

  const discardQuietly = (warm: Warm) =>
    discard(warm).catch((error: unknown) => log.warn("sandbox.warm_left", { reason: String(error) }));

  const refill = async () => {
    const shape = wanted?.shape;
    const stale = ready.filter((one) => one.shape !== shape);
    ready = ready.filter((one) => one.shape === shape);
    for (const { warm } of stale) await discardQuietly(warm);
    while (wanted !== undefined && ready.length < options.size && !stopping.signal.aborted) {
      const { spec, shape: made } = wanted;
      const warm = await make(spec, stopping.signal);
      ready = [...ready, { warm, shape: made }];
      log.debug("sandbox.warm_ready", { shape: made });
    }
  };

  /** One thing at a time, behind whoever waits for a sandbox of their own. */
  const inTurn = (step: () => Promise<void>) => {
    work = work.then(step).catch((error: unknown) => {
      // Expected: no room, or the server stops. The next one who takes tries again.
      if (!stopping.signal.aborted) log.debug("sandbox.warm_failed", { reason: String(error) });
    });
  };

  const tend = async () => {
    for (const one of ready) {
      if (await isReady(one.warm, stopping.signal, false)) continue;
      ready = ready.filter((other) => other !== one);
      await discardQuietly(one.warm);
    }
    await refill();
  };

  if (options.size > 0) {
    want(options.first);
    inTurn(refill);
  }
  let refiller: NodeJS.Timeout | undefined;
  const tender = setInterval(() => inTurn(tend), TEND_MS);
  tender.unref();

  return {
    take: async (spec, signal) => {
      const shape = toShape(spec);
      if (options.size === 0 || shape === undefined || stopping.signal.aborted) return undefined;
      want(spec);
      const found = ready.find((one) => one.shape === shape);
      ready = ready.filter((one) => one !== found);
      refiller ??= setTimeout(() => {
        refiller = undefined;
        inTurn(refill);
      }, REFILL_MS);
      if (found === undefined) return undefined;
      if (await isReady(found.warm, signal, true).catch(() => false)) return found.warm;
      await discardQuietly(found.warm);
      return undefined;
    },
    close: async () => {
      clearInterval(tender);
      clearTimeout(refiller);
      stopping.abort(new Error("the server stops"));
      await work;
      for (const { warm } of ready) await discardQuietly(warm);
      ready = [];
    },
  };
}
