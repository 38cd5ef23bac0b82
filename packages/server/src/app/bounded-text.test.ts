import { expect, test } from "vitest";
import { openText } from "./bounded-text.ts";

const read = (limit: number, ...chunks: readonly Uint8Array[]) => {
  const text = openText(limit);
  for (const chunk of chunks) text.write(chunk);
  return text.end();
};

test("text that was written in pieces is whole", () => {
  const bytes = Buffer.from("\uFEFFgrün 😀\n");
  expect(read(100, bytes.subarray(0, 6), bytes.subarray(6, 11), bytes.subarray(11))).toEqual({
    text: "\uFEFFgrün 😀\n",
    isTruncated: false,
    isLossy: false,
  });
});

test("a cut falls between characters", () => {
  expect(read(5, Buffer.from("ab😀😀"))).toEqual({ text: "ab", isTruncated: true, isLossy: false });
  expect(read(2, Buffer.from("ab"), new Uint8Array())).toEqual({ text: "ab", isTruncated: false, isLossy: false });
});

test.for([
  ["a byte that begins nothing", [0x61, 0xff, 0x62], "a\uFFFDb"],
  ["half a character at the end", [0x61, 0xf0, 0x9f], "a\uFFFD"],
] as const)("%s is marked", ([, bytes, text]) => {
  expect(read(100, Uint8Array.from(bytes))).toEqual({ text, isTruncated: false, isLossy: true });
});
