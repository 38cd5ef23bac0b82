import { expect, test } from "vitest";
import { readTestCounts } from "./test-runs.ts";

test.each([
  ["vitest", " Test Files  1 failed | 3 passed (4)\n      Tests  2 failed | 82 passed (84)\n   Duration  1.02s", 82, 2],
  ["jest", "Test Suites: 1 failed, 3 passed, 4 total\nTests:       2 failed, 82 passed, 84 total", 82, 2],
  ["pytest", "FAILED tests/test_a.py::test_b\n===== 2 failed, 82 passed, 1 warning in 4.52s =====", 82, 2],
  ["pytest in colours", "\u001b[32m\u001b[1m84 passed\u001b[0m\u001b[32m in 0.31s\u001b[0m", 84, 0],
  [
    "cargo, part by part",
    "test result: ok. 80 passed; 0 failed; 1 ignored\n\ntest result: FAILED. 2 passed; 2 failed;",
    82,
    2,
  ],
  ["node", "ℹ tests 84\nℹ pass 82\nℹ fail 2", 82, 2],
  ["tap", "# pass 84\r\n# fail 0\r\n", 84, 0],
  ["mocha", "  82 passing (3s)\n  2 failing\n", 82, 2],
])("the summary of %s is read", (_, output, passed, failed) => {
  expect(readTestCounts(output)).toEqual({ passed, failed });
});

test("what is no summary tells nothing, and the last summary counts", () => {
  expect(readTestCounts("")).toBeUndefined();
  expect(readTestCounts("I passed 3 shops, 2 failed to open")).toBeUndefined();
  expect(readTestCounts("1 failed in 2.00s\nagain\n1 passed in 2.00s")).toEqual({ passed: 1, failed: 0 });
});
