/** A provider each of whose sandboxes stood ready before it was asked for, and a count that proves it. */
import type { Log } from "../../server/src/ports/log.ts";
import type { SandboxProvider, SandboxSpec } from "../../server/src/ports/sandbox-provider.ts";
import { LIMITS, unique, untilFact } from "./conformance/sandbox/given.ts";
import { silentLog } from "./silent-log.ts";

export interface Readiness {
  /** Of the provider: by it the pool tells what stands ready. */
  readonly log: Log;
  shape: string;
  count: number;
}

export function openReadiness(): Readiness {
  const ready: Readiness = {
    shape: "",
    count: 0,
    log: {
      ...silentLog,
      debug: (name: string, fields: Readonly<Record<string, unknown>> = {}) => {
        if (name !== "sandbox.warm_ready") return;
        ready.shape = String(fields["shape"]);
        ready.count += 1;
      },
    },
  };
  return ready;
}

const toShape = ({ limits, agents = [] }: SandboxSpec) => JSON.stringify([limits, agents]);
const isPooled = (spec: SandboxSpec) => spec.snapshot === undefined && spec.image === undefined;

export interface Claims {
  readonly provider: SandboxProvider;
  /** How many sandboxes were not made but claimed. */
  claims(): number;
}

export function claimAlways(
  provider: SandboxProvider,
  ready: Readiness,
  isClaimed: (key: string) => Promise<boolean>,
): Claims {
  let asked = JSON.stringify([LIMITS, []]);
  let used = 0;
  let claims = 0;
  const isReady = (spec: SandboxSpec) => ready.count > used && ready.shape === toShape(spec);
  /** The pool keeps what was asked for last: one of another shape is followed by one of this. */
  const untilReady = async (spec: SandboxSpec, signal: AbortSignal) => {
    if (asked !== toShape(spec)) {
      const other = { ...spec, key: unique("other"), labels: {} };
      await provider.destroy(await provider.ensure(other, signal), signal);
      asked = toShape(spec);
    }
    await untilFact("one like it stands ready", () => isReady(spec));
  };
  const claim: SandboxProvider["ensure"] = async (spec, signal) => {
    const isNew = (await provider.info({ key: spec.key, id: spec.key, labels: {} }, signal)) === undefined;
    if (!isNew || !isPooled(spec)) return provider.ensure(spec, signal);
    await untilReady(spec, signal);
    const taken = ready.count;
    const ref = await provider.ensure(spec, signal);
    if (await isClaimed(spec.key)) {
      used = taken;
      claims += 1;
    }
    return ref;
  };
  let last: Promise<unknown> = Promise.resolve();
  const ensure: SandboxProvider["ensure"] = (spec, signal) => {
    const turn = last.then(() => claim(spec, signal));
    last = turn.catch(() => undefined);
    return turn;
  };
  const claiming = new Proxy(provider, {
    get: (target, name: keyof SandboxProvider) => {
      const found = name === "ensure" ? ensure : target[name];
      return typeof found === "function" ? (found as () => unknown).bind(target) : found;
    },
  });
  return { provider: claiming, claims: () => claims };
}
