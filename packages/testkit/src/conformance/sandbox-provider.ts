/** What every `SandboxProvider` must do. Images of the provider under test hold sh, GNU coreutils, find, setsid and node. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SandboxCapabilities, SandboxRef } from "../../../server/src/ports/sandbox-provider.ts";
import { EXEC_PROMISES } from "./sandbox/exec.ts";
import { FILE_PROMISES } from "./sandbox/files.ts";
import { Given, LIMITS, refusal, unique, type OpenedProvider, type ProviderPromise } from "./sandbox/given.ts";
import { LIFETIME_PROMISES } from "./sandbox/lifetime.ts";
import { LIMIT_PROMISES } from "./sandbox/limits.ts";
import { PORT_PROMISES } from "./sandbox/ports.ts";
import { TERMINAL_PROMISES } from "./sandbox/terminal.ts";

export interface Deviation {
  /** The title of the promise that is not kept. */
  readonly promise: string;
  readonly reason: string;
}

export interface SandboxConformance {
  readonly name: string;
  /** What the provider says it can do; decides which promises are asked for. */
  readonly capabilities: SandboxCapabilities;
  /** Whether there is a way to a port of a sandbox. */
  readonly connects?: boolean;
  readonly open: () => Promise<OpenedProvider>;
  /** Promises that this provider breaks, each with its reason. One that is kept after all fails the suite. */
  readonly deviations?: readonly Deviation[];
}

const PROMISES: readonly ProviderPromise[] = [
  ...LIFETIME_PROMISES,
  ...EXEC_PROMISES,
  ...FILE_PROMISES,
  ...TERMINAL_PROMISES,
  ...LIMIT_PROMISES,
  ...PORT_PROMISES,
];

/** How a provider answers to what it cannot do. */
const REFUSALS = {
  pause: (given: Given, ref: SandboxRef) => given.provider.pause(ref, given.signal),
  snapshot: (given: Given, ref: SandboxRef) => given.provider.snapshot(ref, unique("snapshot"), given.signal),
  terminal: (given: Given, ref: SandboxRef) =>
    given.provider.openTerminal(ref, { columns: 80, rows: 24 }, given.signal),
} as const;

export function describeSandboxProvider(conformance: SandboxConformance): void {
  const { name, capabilities, connects = false, open, deviations = [] } = conformance;
  describe(`SandboxProvider: ${name}`, () => {
    let opened: OpenedProvider;
    let given: Given;
    let shared: Promise<SandboxRef> | undefined;

    beforeAll(async () => {
      opened = await open();
      const signal = new AbortController().signal;
      given = new Given(opened, () => {
        const key = unique("conformance");
        const labels = { installation: key, sandbox: key, generation: "1" };
        shared ??= opened.provider.ensure({ key, labels, limits: LIMITS, env: {} }, signal);
        return shared;
      });
    });
    afterAll(async () => {
      const ref = await shared?.catch(() => undefined);
      if (ref !== undefined) await opened.provider.destroy(ref, given.signal);
      await opened?.close();
    });

    test("the provider can do what it is said to", () => {
      expect(opened.provider.capabilities).toEqual(capabilities);
      expect(opened.provider.connect !== undefined).toBe(connects);
    });

    test("every deviation names a promise and has a reason", () => {
      const titles = PROMISES.map(({ title }) => title);
      expect(deviations.filter(({ promise, reason }) => !titles.includes(promise) || reason === "")).toEqual([]);
    });

    const isAsked = ({ needs }: ProviderPromise) =>
      needs === undefined || (needs === "connect" ? connects : capabilities[needs]);
    const asked = PROMISES.filter(isAsked);
    const reasonOf = ({ title }: ProviderPromise) => deviations.find(({ promise }) => promise === title)?.reason;
    for (const promise of asked.filter((each) => reasonOf(each) === undefined)) {
      test(`${promise.title}`, async () => {
        expect.hasAssertions();
        await promise.keep(given);
      });
    }
    for (const promise of asked.filter((each) => reasonOf(each) !== undefined)) {
      test.fails(`${promise.title} (does not: ${reasonOf(promise)})`, async () => {
        expect.hasAssertions();
        await promise.keep(given);
      });
    }

    const lacking = Object.entries(REFUSALS).filter(
      ([capability]) => !capabilities[capability as keyof typeof REFUSALS],
    );
    for (const [capability, ask] of lacking) {
      test(`${capability} is refused`, async () => {
        await expect(ask(given, await given.sharedSandbox())).rejects.toEqual(refusal("sandbox.rejected"));
      });
    }

    test("nothing of the suite is left but the shared sandbox", async () => {
      const refs = await opened.provider.list({ generation: "1" }, given.signal);
      const left = refs.filter(({ key }) => key.startsWith("conformance-"));
      expect(left).toEqual(shared === undefined ? [] : [await shared]);
    });
  });
}
