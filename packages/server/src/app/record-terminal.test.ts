import { expect, test } from "vitest";
import { openRecorder } from "./record-terminal.ts";

const START = new Date("2026-01-01T00:00:00Z");
const at = (ms: number) => new Date(START.getTime() + ms);
const lines = (bytes: Uint8Array) =>
  Buffer.from(bytes)
    .toString("utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as unknown);

test("what was shown is told with its times; a character that came in two pieces is whole", () => {
  const recorder = openRecorder({ columns: 80, rows: 24 }, START, 10_000);
  const [first, second] = [Buffer.from("a😀").subarray(0, 3), Buffer.from("a😀").subarray(3)];
  recorder.write(first, at(100));
  recorder.write(second, at(250));
  recorder.resize({ columns: 100, rows: 30 }, at(300));
  const { bytes, durationMs, isTruncated } = recorder.end(at(1_500));
  expect(lines(bytes)).toEqual([
    { version: 2, width: 80, height: 24, timestamp: 1_767_225_600, env: { TERM: "xterm-256color" } },
    [0.1, "o", "a"],
    [0.25, "o", "😀"],
    [0.3, "r", "100x30"],
  ]);
  expect({ durationMs, isTruncated }).toEqual({ durationMs: 1_500, isTruncated: false });
});

test("a full recorder takes nothing more and says so", () => {
  const recorder = openRecorder({ columns: 80, rows: 24 }, START, 300);
  for (let n = 0; n < 100; n += 1) recorder.write(Buffer.from(`line ${n}\r\n`), at(n));
  const { bytes, isTruncated } = recorder.end(at(100));
  expect(isTruncated).toBe(true);
  expect(bytes.length).toBeLessThanOrEqual(300);
  expect(lines(bytes).at(1)).toEqual([0, "o", "line 0\r\n"]);
});
