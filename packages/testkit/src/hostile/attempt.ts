/** What hostile code in a sandbox tries, and how it is seen to have failed. Providers are parameters: whoever isolates joins. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SandboxRef } from "../../../server/src/ports/sandbox-provider.ts";
import { Given, LIMITS, unique, type OpenedProvider } from "../conformance/sandbox/given.ts";

export interface Attempt {
  readonly title: string;
  readonly fails: (given: Scene) => Promise<void>;
}

/** A provider with two sandboxes: one that attacks, and its neighbour. */
export class Scene extends Given {
  readonly #neighbour: () => Promise<SandboxRef>;

  constructor(opened: OpenedProvider, attacker: () => Promise<SandboxRef>, neighbour: () => Promise<SandboxRef>) {
    super(opened, attacker);
    this.#neighbour = neighbour;
  }

  attacker(): Promise<SandboxRef> {
    return this.sharedSandbox();
  }

  neighbour(): Promise<SandboxRef> {
    return this.#neighbour();
  }

  /** Everything that a shell script says, whatever becomes of it. */
  async tryShell(ref: SandboxRef, script: string): Promise<string> {
    const { stdout, stderr } = await this.run(ref, { argv: ["sh", "-c", script], timeoutMs: 20_000 });
    return `${stdout.toString()}${stderr.toString()}`;
  }

  /** Everything that a program of node says. */
  async tryNode(ref: SandboxRef, program: string): Promise<string> {
    const { stdout, stderr } = await this.run(ref, {
      argv: ["node", "-"],
      stdin: Buffer.from(program),
      timeoutMs: 20_000,
    });
    return `${stdout.toString()}${stderr.toString()}`;
  }

  /** Throws unless it still does what it is told. */
  async expectAlive(ref: SandboxRef): Promise<void> {
    if ((await this.shell(ref, "echo alive")) !== "alive\n") throw new Error("the sandbox does not do what it is told");
  }
}

export interface HostileSuite {
  readonly name: string;
  readonly open: () => Promise<OpenedProvider>;
  readonly attempts: readonly Attempt[];
}

export function describeHostile({ name, open, attempts }: HostileSuite): void {
  describe(`hostile code in a sandbox: ${name}`, () => {
    let opened: OpenedProvider;
    let scene: Scene;
    const made: SandboxRef[] = [];
    const make = () => {
      let ref: Promise<SandboxRef> | undefined;
      return () => {
        const key = unique("hostile");
        ref ??= opened.provider
          .ensure({ key, labels: { hostile: key }, limits: LIMITS, env: {} }, new AbortController().signal)
          .then((one) => (made.push(one), one));
        return ref;
      };
    };
    beforeAll(async () => {
      opened = await open();
      scene = new Scene(opened, make(), make());
    });
    afterAll(async () => {
      for (const ref of made) await opened.provider.destroy(ref, scene.signal);
      await opened?.close();
    });
    for (const attempt of attempts) {
      test(`${attempt.title}`, async () => {
        expect.hasAssertions();
        await attempt.fails(scene);
      });
    }
  });
}
