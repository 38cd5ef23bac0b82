/** What is pushed into a running agent, as the iterable its SDK reads from. */
import { createBell } from "../../bell.ts";
import type { SdkInput } from "./sdk.ts";

export interface InputStream extends AsyncIterable<SdkInput> {
  push(text: string, uuid: string): void;
  end(): void;
}

export function createInputStream(): InputStream {
  const bell = createBell();
  const waiting: SdkInput[] = [];
  let isOver = false;
  return {
    push(text, uuid) {
      waiting.push({ type: "user", message: { role: "user", content: text }, parent_tool_use_id: null, uuid });
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
