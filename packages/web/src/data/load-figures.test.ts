import { expect, test } from "vitest";
import { toLoadFigures } from "./load-figures.ts";

const given = (value: number) => ({ value, origin: "default" });
const resources = { memory_gb: given(4), cpu: given(2), disk_gb: given(8), image: null, snapshot: null };
const load = { memoryBytes: 1_200_000_000, cpuPercent: 82, at: "2026-01-01T12:00:00Z" };

test("processor time is a share of the cores, memory stands beside its limit, and what is nearly full says so", () => {
  const [cpu, memory] = toLoadFigures({ state: "running", resources }, load);
  expect(cpu).toMatchObject({ name: "cpu", value: "41 %", isHigh: false });
  expect(memory).toMatchObject({ name: "mem", value: "1.2 GB", isHigh: false });
  expect(memory?.title).toContain("of 4.3 GB");
  const full = toLoadFigures({ state: "running", resources }, { ...load, cpuPercent: 195, memoryBytes: 4.2e9 });
  expect(full.map(({ isHigh }) => isHigh)).toEqual([true, true]);
});

test("a first beat knows no processor time, and a sandbox that stands still says nothing", () => {
  expect(
    toLoadFigures({ state: "running", resources: null }, { ...load, cpuPercent: null }).map(({ name }) => name),
  ).toEqual(["mem"]);
  expect(toLoadFigures({ state: "paused", resources }, load)).toEqual([]);
  expect(toLoadFigures({ state: "running", resources }, undefined)).toEqual([]);
});
