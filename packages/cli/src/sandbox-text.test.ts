import type { Sandbox } from "@drover/contract";
import { expect, test } from "vitest";
import { formatSandbox, formatSandboxes } from "./sandbox-text.ts";

const sandbox = {
  id: "drover-00000000-000000",
  state: "running",
  state_cause: null,
  generation: 1,
  provider: "local",
  provider_id: null,
  project_id: "project-1",
  labels: {},
  resources: {
    memory_gb: { value: 4, origin: "default" },
    cpu: { value: 2, origin: "SANDBOX_CPU" },
    disk_gb: { value: 1, origin: "request" },
    image: null,
    snapshot: { value: "base", origin: "request" },
  },
  enforced_by: { memory: "watchdog", isolation: "unsafe" },
  health: "alive",
  turn: 1,
  event_count: 3,
  created_at: "2026-01-01T00:00:00.000Z",
} as unknown as Sandbox;
const now = new Date("2026-01-01T00:01:00.000Z");

test("a sandbox that nothing isolates says so in the list", () => {
  expect(formatSandboxes([sandbox], now, 200)[1]).toContain("local UNSAFE");
  expect(formatSandboxes([{ ...sandbox, enforced_by: null }], now, 200)[1]).not.toContain("UNSAFE");
});

test("each limit is shown with who asked for it and what enforces it, and what the sandbox was made from", () => {
  const text = formatSandbox(sandbox, now, 200).join("\n");
  expect(text).toContain(
    "4 GiB memory (default, watchdog), 2 cores (SANDBOX_CPU), 1 GiB disk (request), isolation: unsafe",
  );
  expect(text).toContain("snapshot base (request)");
});
