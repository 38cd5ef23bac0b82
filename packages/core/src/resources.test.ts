import type { Provider } from "@drover/contract";
import { describe, expect, test } from "vitest";
import { resolveSizes, resolveSources } from "./resources.ts";

const sized = (value: number, origin = "default") => ({ value, origin });
const configured = { memory_gb: sized(4), cpu: sized(2, "SANDBOX_CPU"), disk_gb: sized(20, "drover.yaml") };
const sources = {
  image: { value: "kept", origin: "SANDBOX_IMAGE" },
  snapshot: { value: "light", origin: "default" },
};

test("a size is the request's, else the configuration's, and never above its cap; each says where it came from", () => {
  expect(resolveSizes({ memory_gb: 1 }, configured)).toEqual({
    memory_gb: sized(1, "request"),
    cpu: sized(2, "SANDBOX_CPU"),
    disk_gb: sized(10, "drover.yaml, capped"),
  });
});

describe("what a sandbox is made from", () => {
  const asked = (value: string) => ({ value, origin: "request" });
  const fallback = { value: "kept", origin: "SANDBOX_IMAGE, without the snapshot" };
  const table: readonly [Provider, { image?: string; snapshot?: string }, object][] = [
    ["local", {}, { image: null, snapshot: null }],
    ["local", { snapshot: "s", image: "i" }, { image: null, snapshot: asked("s") }],
    ["docker", {}, { image: sources.image, snapshot: null }],
    ["docker", { image: "i" }, { image: asked("i"), snapshot: null }],
    ["docker", { image: "i", snapshot: "s" }, { image: null, snapshot: asked("s") }],
    ["kubernetes", {}, { image: sources.image, snapshot: null }],
    ["kubernetes", { image: "i", snapshot: "s" }, { image: asked("i"), snapshot: null }],
    ["daytona", {}, { image: fallback, snapshot: sources.snapshot }],
    ["daytona", { snapshot: "s" }, { image: null, snapshot: asked("s") }],
    ["daytona", { image: "i" }, { image: asked("i"), snapshot: null }],
    ["external", { image: "i" }, { image: null, snapshot: null }],
  ];
  test.each(table)("%s, asked for %o", (provider, input, expected) => {
    expect(resolveSources(provider, input, sources)).toEqual(expected);
  });
});
