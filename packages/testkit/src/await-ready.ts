/** Waits for the first word of a program in a bubblewrap, or for why there is none. */
import type { ChildProcess } from "node:child_process";

export function awaitReady(child: ChildProcess, name: string): Promise<void> {
  let said = "";
  child.stderr?.on("data", (text: Buffer) => (said += text.toString()));
  return new Promise((resolve, reject) => {
    child.stdout?.once("data", () => resolve());
    child.once("error", (cause) =>
      reject(new Error("bubblewrap is missing: sudo apt-get install bubblewrap", { cause })),
    );
    child.once("exit", (code) => reject(new Error(`${name} did not start (${code}): ${said}`)));
  });
}
