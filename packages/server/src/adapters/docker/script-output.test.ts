import fc from "fast-check";
import { expect, test } from "vitest";
import type { ExecEvent } from "../../ports/sandbox-provider.ts";
import type { StreamFrame } from "./exec-stream.ts";
import { readScriptOutput } from "./script-output.ts";

const MARK = "0123456789abcdef";
const NOTHING = Buffer.alloc(0);

async function read(frames: readonly StreamFrame[]) {
  const seen: { pid?: number; stdout: Buffer; stderr: Buffer } = { stdout: NOTHING, stderr: NOTHING };
  const source = (async function* () {
    yield* frames;
  })();
  const events: AsyncGenerator<ExecEvent, unknown> = readScriptOutput(source, MARK, (pid) => (seen.pid = pid));
  let next = await events.next();
  for (; next.done !== true; next = await events.next()) {
    const event = next.value;
    if (event.type !== "exit") seen[event.type] = Buffer.concat([seen[event.type], event.chunk]);
  }
  return { ...seen, exit: next.value };
}

const out = (text: string): StreamFrame => ({ type: "stdout", chunk: Buffer.from(text, "latin1") });
const err = (text: string): StreamFrame => ({ type: "stderr", chunk: Buffer.from(text, "latin1") });

test("however the two streams are cut and mixed, each comes out whole", async () => {
  const cuts = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(cuts, cuts, fc.array(fc.boolean(), { maxLength: 80 }), async (outCuts, errCuts, order) => {
      const pieces = (text: string, sizes: readonly number[]): readonly string[] => {
        const found: string[] = [];
        for (let at = 0, turn = 0; at < text.length; turn += 1) {
          const size = sizes[turn % sizes.length] ?? 1;
          found.push(text.slice(at, at + size));
          at += size;
        }
        return found;
      };
      const stdout = pieces(`73\na\0b\xff\n\0${MARK} 7 2 3\n`, outCuts).map(out);
      const stderr = pieces(`\xffwarning\n\0${MARK}`, errCuts).map(err);
      const frames: StreamFrame[] = [];
      for (const isStderr of order) frames.push(...(isStderr ? stderr : stdout).splice(0, 1));
      const seen = await read([...frames, ...stderr, ...stdout]);
      expect({ ...seen, stdout: seen.stdout.toString("latin1"), stderr: seen.stderr.toString("latin1") }).toEqual({
        pid: 73,
        stdout: "a\0b\xff\n",
        stderr: "\xffwarning\n",
        exit: { type: "exit", code: 7, signal: null, isTimedOut: false, isOomKilled: true },
      });
    }),
  );
});

test("a stream that ends before the script has spoken gives what came, and no exit", async () => {
  const seen = await read([out("73\nhalf\x000123"), err("x")]);
  expect({ ...seen, stdout: seen.stdout.toString() }).toMatchObject({
    pid: 73,
    stdout: "half\x000123",
    exit: undefined,
  });
});

test("a command that never started is sandbox.unavailable with the words of the engine", async () => {
  await expect(read([err("no such shell")])).rejects.toMatchObject({
    code: "sandbox.unavailable",
    message: expect.stringContaining("no such shell"),
  });
});
