/** The terminal that this process runs in. */
import type { ReadStream, WriteStream } from "node:tty";
import type { Console } from "./verb.ts";

export function openConsole(input: ReadStream, output: WriteStream): Console | undefined {
  if (!input.isTTY || !output.isTTY) return undefined;
  return {
    // A terminal that does not know its size says 0.
    size: () => ({ columns: output.columns || 80, rows: output.rows || 24 }),
    onResize: (listener) => void output.on("resize", listener),
    write: (bytes) => void output.write(bytes),
    takeOver: (onKeys) => {
      const wasRaw = input.isRaw;
      input.setRawMode(true);
      input.on("data", onKeys);
      input.resume();
      const giveBack = () => {
        input.off("data", onKeys);
        input.setRawMode(wasRaw);
        input.pause();
        process.off("exit", giveBack);
      };
      // However this process ends, the terminal is left as it was found.
      process.once("exit", giveBack);
      return giveBack;
    },
  };
}
