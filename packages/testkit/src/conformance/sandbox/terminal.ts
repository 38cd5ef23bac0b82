/** Terminals: a shell in the sandbox with a size, an end and a code. */
import { expect } from "vitest";
import type { Terminal } from "../../../../server/src/ports/sandbox-provider.ts";
import { isOnThisMachine, refusal, unique, uniqueNap, untilFact, type ProviderPromise } from "./given.ts";

/** Everything it has written so far. */
function readAlong(terminal: Terminal): { text: () => string; done: Promise<void> } {
  let text = "";
  const decoder = new TextDecoder();
  const read = async () => {
    for await (const chunk of terminal.output) text += decoder.decode(chunk, { stream: true });
  };
  return { text: () => text, done: read() };
}

const type = (terminal: Terminal, line: string) => terminal.write(Buffer.from(`${line}\n`));

export const TERMINAL_PROMISES: readonly ProviderPromise[] = [
  {
    title: "a terminal echoes, has the size it was given, and tells its code",
    needs: "terminal",
    keep: async (given) => {
      const ref = await given.sharedSandbox();
      const terminal = await given.provider.openTerminal(ref, { columns: 91, rows: 23 }, given.signal);
      const screen = readAlong(terminal);
      type(terminal, "printf '<%s>\\n' \"$(stty size)\"");
      await untilFact("the size is as given", () => screen.text().includes("<23 91>"));
      expect(screen.text()).toContain("stty size");
      terminal.resize(117, 41);
      await untilFact("the new size is seen", () => {
        type(terminal, "printf '<%s>\\n' \"$(stty size)\"");
        return screen.text().includes("<41 117>");
      });
      type(terminal, "pwd; test -t 0 && test -t 1 && echo is-a-$((1 + 1))-terminal");
      await untilFact("it is a terminal", () => screen.text().includes("is-a-2-terminal"));
      expect(screen.text()).toContain("/workspace");
      type(terminal, "exit 3");
      expect(await terminal.exited).toEqual({ code: 3 });
      await screen.done;
    },
  },
  {
    title: "control-C interrupts what runs in a terminal, not the terminal",
    needs: "terminal",
    keep: async (given) => {
      const ref = await given.sharedSandbox();
      const terminal = await given.provider.openTerminal(ref, { columns: 80, rows: 24 }, given.signal);
      const screen = readAlong(terminal);
      const nap = uniqueNap();
      type(terminal, `sleep ${nap}`);
      await untilFact("it sleeps", () => isOnThisMachine(nap));
      terminal.write(Uint8Array.of(3));
      await untilFact("it sleeps no more", () => !isOnThisMachine(nap));
      type(terminal, "echo still-$((1 + 1))-here");
      await untilFact("the shell answers", () => screen.text().includes("still-2-here"));
      terminal.close();
      await terminal.exited;
      await screen.done;
    },
  },
  {
    title: "a closed terminal ends its shell and what runs in it",
    needs: "terminal",
    keep: async (given) => {
      const ref = await given.sharedSandbox();
      const terminal = await given.provider.openTerminal(ref, { columns: 80, rows: 24 }, given.signal);
      const screen = readAlong(terminal);
      const nap = uniqueNap();
      type(terminal, `sleep ${nap}`);
      await untilFact("it sleeps", () => isOnThisMachine(nap));
      terminal.close();
      terminal.close();
      await terminal.exited;
      await screen.done;
      await untilFact("it is gone", () => !isOnThisMachine(nap));
    },
  },
  {
    title: "an abort closes a terminal",
    needs: "terminal",
    keep: async (given) => {
      const ref = await given.sharedSandbox();
      const stop = new AbortController();
      const terminal = await given.provider.openTerminal(ref, { columns: 80, rows: 24 }, stop.signal);
      const screen = readAlong(terminal);
      stop.abort();
      expect(await terminal.exited).toHaveProperty("code");
      await screen.done;
    },
  },
  {
    title: "a terminal in a sandbox that does not exist is sandbox.unavailable",
    needs: "terminal",
    keep: async (given) => {
      const key = unique("never");
      const opened = given.provider.openTerminal({ key, id: key, labels: {} }, { columns: 80, rows: 24 }, given.signal);
      await expect(opened).rejects.toEqual(refusal("sandbox.unavailable"));
    },
  },
];
