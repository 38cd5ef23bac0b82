/** The life of a sandbox. Health (alive, late, dead) is derived from heartbeats and never stored as a state. */
import type { SandboxState } from "@drover/contract";
import type { Table } from "./machine.ts";

export type SandboxTrigger =
  | "provisioned"
  | "started"
  | "paused"
  | "resumed"
  | "finished"
  | "delivered"
  | "worked"
  | "lost"
  | "failed"
  | "cancelled"
  | "terminated";

export const SANDBOX = {
  pending: { provisioned: "creating", failed: "failed", cancelled: "cancelled", terminated: "terminated" },
  creating: { started: "running", lost: "pending", failed: "failed", cancelled: "cancelled", terminated: "terminated" },
  running: {
    paused: "paused",
    finished: "completing",
    lost: "pending",
    failed: "failed",
    cancelled: "cancelled",
    terminated: "terminated",
  },
  paused: {
    resumed: "running",
    lost: "pending",
    failed: "failed",
    cancelled: "cancelled",
    terminated: "terminated",
  },
  completing: {
    delivered: "completed",
    worked: "running",
    lost: "pending",
    failed: "failed",
    cancelled: "cancelled",
    terminated: "terminated",
  },
  completed: { worked: "running", cancelled: "cancelled", terminated: "terminated" },
  cancelled: {},
  failed: {},
  terminated: {},
} as const satisfies Table<SandboxState, SandboxTrigger>;
