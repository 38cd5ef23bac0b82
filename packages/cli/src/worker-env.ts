/** How a program of one's own becomes the worker of a sandbox: lines for a shell, since the token is told once. */
import type { CreatedSandbox } from "@drover/contract";
import type { Context } from "./verb.ts";

const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/** Nothing unless the sandbox is of provider `external`. */
export function printWorkerEnv(context: Context, { worker_env }: CreatedSandbox): void {
  for (const [name, value] of Object.entries(worker_env ?? {})) context.print(`export ${name}=${quote(value)}`);
}
