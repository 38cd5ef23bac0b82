import { ControlRequest, ControlResize } from "@drover/contract";
import { expect, test } from "vitest";
import { parseRequest, parseSize } from "./parse-request.ts";

const accepts = (parse: (value: unknown) => unknown, value: unknown): boolean => {
  try {
    parse(value);
    return true;
  } catch {
    return false;
  }
};

/** Every field with good values and bad ones. */
const FIELDS: Readonly<Record<string, readonly unknown[]>> = {
  op: ["exec", "read", "write", "list", "status", "connect", "stop", 1, null, undefined],
  argv: [["ls"], ["ls", "-l"], [], [1], "ls", null, undefined],
  cwd: ["/", 1, null, undefined],
  env: [{ A: "b" }, {}, { A: 1 }, [], "A=b", null, undefined],
  terminal: [{ columns: 80, rows: 24 }, { columns: 0, rows: 24 }, { columns: 1_001, rows: 1 }, { rows: 1.5 }, null],
  is_detached: [true, false, "yes", null, undefined],
  path: ["/a", 1, null, undefined],
  port: [1, 65_535, 0, 65_536, 1.5, "80", null, undefined],
  limit: [1, 0, -1, 1.5, "1", null, undefined],
  mode: [0o644, 1.5, "644", null, undefined],
};
const GOOD: readonly Readonly<Record<string, unknown>>[] = [
  { op: "exec", argv: ["ls"], cwd: "/", env: {}, terminal: { columns: 80, rows: 24 }, is_detached: true },
  { op: "read", path: "/a", limit: 1 },
  { op: "write", path: "/a", mode: 0o600 },
  { op: "list", path: "/a" },
  { op: "status" },
  { op: "connect", port: 3_000 },
];

test("a supervisor takes exactly the requests that the contract knows", () => {
  const requests: unknown[] = [undefined, null, 1, "exec", [], ...GOOD];
  for (const good of GOOD)
    for (const [field, values] of Object.entries(FIELDS))
      for (const value of values) requests.push({ ...good, [field]: value });
  for (const request of requests)
    expect({ request, isTaken: accepts(parseRequest, request) }).toEqual({
      request,
      isTaken: accepts((value) => ControlRequest.parse(value), request),
    });
  for (const good of GOOD) expect(parseRequest(good)).toEqual(ControlRequest.parse(good));
  for (const size of FIELDS["terminal"] ?? [])
    expect(accepts(parseSize, size)).toBe(accepts((value) => ControlResize.parse(value), size));
});
