/** What hostile code in a sandbox tries, and how it is seen to have failed. Providers are parameters: whoever isolates joins. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SandboxRef } from "../../../server/src/ports/sandbox-provider.ts";
import { Given, LIMITS, unique, type OpenedProvider } from "../conformance/sandbox/given.ts";

export interface Attempt {
  readonly title: string;
  readonly fails: (given: Scene) => Promise<void>;
}

/** What an attacker finds inside, by the kind of sandbox. */
export interface Ground {
  /** The pid of what does our work there, as a word of a shell. */
  readonly keeper: string;
  /** Whether nobody inside may look into it. Where they may, it has nothing. */
  readonly isSealed: boolean;
  /** Where the proxy is: a port of the loopback, or a socket. */
  readonly proxy: number | string;
  /** Files that are not the agent's to change. */
  readonly fixed: readonly string[];
}

const SYSTEM_FILES = ["/usr/bin/env", "/etc/passwd", "/bin/sh"];

const LOCAL_GROUND: Ground = {
  keeper: "2",
  isSealed: true,
  proxy: 3128,
  fixed: [...SYSTEM_FILES, "/opt/drover/supervisor.cjs", "/opt/drover/worker.mjs", "/opt/drover/bin/node"],
};

/** The worker leads the port to the socket; without one the socket is asked. */
export const DOCKER_GROUND: Ground = {
  keeper: "$(cut -d' ' -f1 /proc/1/task/1/children)",
  isSealed: false,
  proxy: "/run/cp/egress.sock",
  fixed: [...SYSTEM_FILES, "/usr/local/bin/node"],
};

/** A provider with two sandboxes: one that attacks, and its neighbour. */
export class Scene extends Given {
  readonly ground: Ground;
  readonly #neighbour: () => Promise<SandboxRef>;

  constructor(
    opened: OpenedProvider,
    ground: Ground,
    attacker: () => Promise<SandboxRef>,
    neighbour: () => Promise<SandboxRef>,
  ) {
    super(opened, attacker);
    this.ground = ground;
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
  /** Of local sandboxes unless told. */
  readonly ground?: Ground;
  readonly attempts: readonly Attempt[];
}

export function describeHostile({ name, open, ground = LOCAL_GROUND, attempts }: HostileSuite): void {
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
      scene = new Scene(opened, ground, make(), make());
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
