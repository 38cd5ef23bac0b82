/** A provider of local sandboxes each of which stood ready before it was asked for, and a count that proves it. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { SandboxProvider, SandboxSpec } from "../../server/src/ports/sandbox-provider.ts";
import type { OpenedProvider } from "./conformance/sandbox/given.ts";
import { LIMITS, unique, untilFact } from "./conformance/sandbox/given.ts";
import { openLocal } from "./hostile/open-local.ts";
import { silentLog } from "./silent-log.ts";

export interface WarmLocal extends OpenedProvider {
  readonly folder: string;
  /** How many sandboxes were not made but claimed. */
  claims(): number;
}

const toShape = ({ limits, agents = [] }: SandboxSpec) => JSON.stringify([limits, agents]);
const isPooled = (spec: SandboxSpec) => spec.snapshot === undefined && spec.image === undefined;

export async function openWarmLocal(): Promise<WarmLocal> {
  const ready = { shape: "", count: 0 };
  let asked = JSON.stringify([LIMITS, []]);
  let used = 0;
  let claims = 0;
  const debug = (name: string, fields: Readonly<Record<string, unknown>> = {}) => {
    if (name !== "sandbox.warm_ready") return;
    ready.shape = String(fields["shape"]);
    ready.count += 1;
  };
  const opened = await openLocal({ log: { ...silentLog, debug }, warm: { size: 1, limits: LIMITS } });
  const { provider } = opened;
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
    const note = JSON.parse(await readFile(join(opened.folder, "sandboxes", spec.key, "note.json"), "utf8"));
    if (note.group !== null) {
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
  return { ...opened, provider: { ...provider, ensure }, claims: () => claims };
}
