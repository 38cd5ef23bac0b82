/** Checks one after the other, each told as it is done; the exit code says whether all held. */
import { EXIT } from "./exit-code.ts";
import type { Arguments, Context } from "./verb.ts";

export interface Checks {
  /** Runs one; what it throws is its failure. What follows a failed one is still run unless it needs what failed. */
  run<T>(name: string, check: () => Promise<T>): Promise<T>;
  finish(more?: Readonly<Record<string, unknown>>): number;
}

export class CheckFailed extends Error {
  override readonly name = "CheckFailed";
  /** What was thrown at it; undefined when it did not hold. */
  readonly reason: Error | undefined;

  constructor(message: string, reason?: Error) {
    super(message, { cause: reason });
    this.reason = reason;
  }
}

export function openChecks(context: Context, args: Arguments): Checks {
  const done: { name: string; ok: boolean; ms: number; detail?: string }[] = [];
  return {
    run: async (name, check) => {
      const since = context.now().getTime();
      try {
        const value = await check();
        const ms = context.now().getTime() - since;
        done.push({ name, ok: true, ms });
        if (!args.has("json")) context.print(`${context.paint.green("ok")}      ${name} (${ms} ms)`);
        return value;
      } catch (error) {
        const detail = error instanceof Error ? error.message : String(error);
        done.push({ name, ok: false, ms: context.now().getTime() - since, detail });
        if (!args.has("json")) context.print(`${context.paint.red("failed")}  ${name}: ${detail}`);
        throw error instanceof CheckFailed
          ? error
          : new CheckFailed(detail, error instanceof Error ? error : undefined);
      }
    },
    finish: (more = {}) => {
      const ok = done.every((one) => one.ok);
      if (args.has("json")) context.print(JSON.stringify({ ok, ...more, checks: done }, null, 2));
      return ok ? EXIT.ok : EXIT.failed;
    },
  };
}

export function hold(isSo: boolean, otherwise: string): void {
  if (!isSo) throw new CheckFailed(otherwise);
}
