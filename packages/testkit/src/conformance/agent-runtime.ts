/** What every `AgentRuntime` must do; at the end it prints a card that says how many promises each keeps. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { INTERRUPT } from "./agent-runtime/interrupt.ts";
import { PERMISSION } from "./agent-runtime/permission.ts";
import type { RuntimeSubject } from "./agent-runtime/plan.ts";
import { Run } from "./agent-runtime/run.ts";
import type { RunPromise, Scenario } from "./agent-runtime/scenario.ts";
import { STEER } from "./agent-runtime/steer.ts";
import { TROUBLE } from "./agent-runtime/trouble.ts";
import { WORK } from "./agent-runtime/work.ts";

const SCENARIOS: readonly Scenario[] = [...WORK, ...STEER, ...INTERRUPT, ...TROUBLE, ...PERMISSION];

const nameOf = (scenario: Scenario, title: string) => `${scenario.title}: ${title}`;

/** `only`: titles of scenarios, where the whole suite takes too long for every day. */
export function describeAgentRuntime(subject: RuntimeSubject, only?: readonly string[]): void {
  const { name, runtime, traits, deviations = [] } = subject;
  const card = { kept: 0, broken: 0, "not asked": 0 };
  const reasons = new Map(deviations.map(({ promise, reason }) => [promise, reason]));
  const asked = SCENARIOS.filter(
    ({ needs, title }) => needs?.(traits, runtime.capabilities) !== false && only?.includes(title) !== false,
  );
  for (const scenario of SCENARIOS) if (!asked.includes(scenario)) card["not asked"] += scenario.promises.length;

  describe(`AgentRuntime: ${name}`, () => {
    test("every deviation names a promise", () => {
      const titles = SCENARIOS.flatMap((scenario) => scenario.promises.map(({ title }) => nameOf(scenario, title)));
      expect(titles).toEqual(expect.arrayContaining([...reasons.keys()]));
      expect(new Set(titles).size).toBe(titles.length);
    });

    describe.each(asked)("$title", (scenario) => {
      let run: Run;
      beforeAll(async () => {
        run = await Run.start(subject, scenario.plan());
        await scenario.play(run).catch((error: unknown) => {
          // What it did say tells more than the fact that did not come.
          throw new Error(`${String(error)}\n${run.types.join(" ")}`, { cause: error });
        });
      });
      afterAll(() => run.dispose());

      const promises = scenario.promises.filter(({ needsModel }) => needsModel === undefined || traits.model);
      card["not asked"] += scenario.promises.length - promises.length;
      const reasonOf = ({ title }: RunPromise) => reasons.get(nameOf(scenario, title));
      for (const promise of promises.filter((each) => reasonOf(each) === undefined)) {
        test(`${promise.title}`, async () => {
          expect.hasAssertions();
          await promise.keep(run);
          card.kept += 1;
        });
      }
      for (const promise of promises.filter((each) => reasonOf(each) !== undefined)) {
        test.fails(`${promise.title} (does not: ${reasonOf(promise)})`, async () => {
          expect.hasAssertions();
          card.broken += 1;
          await promise.keep(run);
        });
      }
    });

    afterAll(() => {
      const { steer, resume, permission } = runtime.capabilities;
      process.stdout.write(
        `score card: ${name.padEnd(12)} ${card.kept} kept, ${card.broken} not kept (with reason), ${card["not asked"]} not asked; steer ${steer}, resume ${resume}, permission ${permission}\n`,
      );
      for (const [promise, reason] of reasons) process.stdout.write(`  ${promise}: ${reason}\n`);
    });
  });
}
