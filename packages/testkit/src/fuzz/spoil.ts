/** Spoils a value that was good: another type, an extreme, a key too much or too few, at a place that chance picks. */
import type { Chance } from "../chance.ts";

const nest = (levels: number): unknown => {
  let value: unknown = 1;
  for (let level = 0; level < levels; level += 1) value = [value];
  return value;
};

/** Values that something between the socket and the disk is known to stumble over. */
const BAD: readonly [unknown, ...unknown[]] = [
  null,
  true,
  0,
  -1,
  -0,
  1.5,
  2 ** 31,
  2 ** 53,
  -(2 ** 63),
  1e308,
  "",
  " ",
  "\u0000",
  "a\u0000b",
  "\ud800",
  "\u202e",
  "../../../etc/passwd",
  "'; drop table events; --",
  "${1}{{2}}%s%n",
  "<img src=x onerror=alert(1)>",
  "x".repeat(101),
  "x".repeat(20_000),
  "😀".repeat(300),
  "NaN",
  "1e999",
  "0000-00-00T00:00:00Z",
  "+275760-09-13T00:00:00.001Z",
  [],
  {},
  [[]],
  ["x", 1, null],
  { length: 3 },
  { toString: 1, constructor: { prototype: {} } },
  nest(70),
];

const BAD_KEYS: readonly [string, ...string[]] = ["__proto__", "constructor", "unknown", "", "id", "\u0000", "toJSON"];

export function spoil(value: unknown, chance: Chance): unknown {
  if (chance.isIn(35)) return chance.pick(BAD);
  if (Array.isArray(value)) {
    if (value.length === 0 || chance.isIn(20)) return [...(value as unknown[]), chance.pick(BAD)];
    const at = chance.int(0, value.length - 1);
    return value.map((item: unknown, index) => (index === at ? spoil(item, chance) : item));
  }
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value);
    const at = chance.int(0, Math.max(0, entries.length - 1));
    if (entries.length === 0 || chance.isIn(20)) entries.push([chance.pick(BAD_KEYS), chance.pick(BAD)]);
    else if (chance.isIn(25)) entries.splice(at, 1);
    else entries[at] = [entries[at]?.[0] ?? "", spoil(entries[at]?.[1], chance)];
    // Not fromEntries of a plain object: the key `__proto__` is to arrive as a key.
    return Object.fromEntries(entries);
  }
  return chance.pick(BAD);
}
