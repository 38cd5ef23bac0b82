import type Docker from "dockerode";
import { expect, test } from "vitest";
import { toInfo, type Report } from "./report.ts";

const limits = { memoryBytes: 1_000_000, cpus: 1.5, diskBytes: 5_000, processes: 10 };
const found = {
  Id: "1",
  State: { Running: true, Paused: false, OOMKilled: false, ExitCode: 0, Error: "" },
  HostConfig: { NetworkMode: "none" },
  Config: { Labels: { "drover.limits": JSON.stringify(limits) } },
} as unknown as Docker.ContainerInspectInfo;

const report = (facts: Record<string, string>): Report => ({ facts: new Map(Object.entries(facts)), ended: [] });

test("limits that cgroup 2 tells are the engine's", () => {
  const facts = { memory_limit: "999424", cpu_limit: "150000 100000", process_limit: "10", file_limit: "5000" };
  expect(toInfo(found, report(facts)).enforcedBy).toEqual({
    memory: "engine",
    cpu: "engine",
    processes: "engine",
    disk: "watchdog",
    network: "engine",
    isolation: "engine",
  });
});

test("limits that the engine took and ignored are enforced by none", () => {
  const second = { memory_limit: "max", cpu_limit: "max 100000", process_limit: "max", file_limit: "unlimited" };
  const first = { memory_limit: "9223372036854771712", cpu_quota: "-1", cpu_period: "100000", process_limit: "max" };
  for (const facts of [second, first, {}]) {
    const { enforcedBy } = toInfo(found, report(facts));
    expect(enforcedBy).toMatchObject({ memory: "none", cpu: "none", processes: "none", disk: "none" });
  }
});

test("what is used and what was killed come from the kernel's counters", () => {
  const info = toInfo(found, report({ memory_used: "77", processes: "3", killed: "1" }));
  expect(info).toMatchObject({ isOomKilled: true, usage: { memoryBytes: 77, processes: 3, diskBytes: null } });
});
