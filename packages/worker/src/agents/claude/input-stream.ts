/** What is pushed into a running agent, as the iterable its SDK reads from. */
import { createBell } from "../../bell.ts";
import type { SdkInput } from "./sdk.ts";

export interface InputStream extends AsyncIterable<SdkInput> {
  push(text: string, uuid: string): void;
  /** In front of what waits already: the order comes before what was said about it. */
  pushFirst(text: string, uuid: string): void;
  end(): void;
}

const toInput = (content: string, uuid: string): SdkInput => ({
  type: "user",
  message: { role: "user", content },
  parent_tool_use_id: null,
  uuid,
});

export function createInputStream(): InputStream {
  const bell = createBell();
  const waiting: SdkInput[] = [];
  let isOver = false;
  return {
    push(text, uuid) {
      waiting.push(toInput(text, uuid));
      bell.ring();
    },
    pushFirst(text, uuid) {
      waiting.unshift(toInput(text, uuid));
      bell.ring();
    },
    end() {
      isOver = true;
      bell.ring();
    },
    async *[Symbol.asyncIterator]() {
      while (!isOver) {
        const next = waiting.shift();
        if (next === undefined) await bell.wait();
        else yield next;
      }
    },
  };
}
