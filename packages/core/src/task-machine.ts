/** The life of a task. A try that ends badly and may be repeated leads back to `pending`; the attempts tell of each. */
import type { TaskStatus } from "@drover/contract";
import { step, type Step, type Table } from "./machine.ts";

export type TaskTrigger =
  | "claimed"
  | "released"
  | "assigned"
  | "started"
  | "requeued"
  | "completed"
  | "validation_requested"
  | "validation_claimed"
  | "validation_passed"
  | "validation_failed"
  | "revised"
  | "dependency_failed"
  | "dependency_revived"
  | "given_up"
  | "failed"
  | "cancelled"
  | "retried";

const ENDINGS = { failed: "failed", cancelled: "cancelled" } as const;

export const TASK = {
  pending: { claimed: "claiming", dependency_failed: "blocked", completed: "completed", ...ENDINGS },
  blocked: { dependency_revived: "pending", given_up: "skipped", completed: "completed", ...ENDINGS },
  claiming: { assigned: "assigned", released: "pending", requeued: "pending", ...ENDINGS },
  assigned: { started: "running", requeued: "pending", completed: "completed", ...ENDINGS },
  running: {
    completed: "completed",
    validation_requested: "pending_validation",
    requeued: "pending",
    ...ENDINGS,
  },
  pending_validation: { validation_claimed: "validating", validation_passed: "completed", ...ENDINGS },
  validating: {
    validation_passed: "completed",
    validation_failed: "needs_revision",
    released: "pending_validation",
    ...ENDINGS,
  },
  needs_revision: { revised: "pending", ...ENDINGS },
  completed: {},
  failed: { retried: "pending" },
  cancelled: { retried: "pending" },
  skipped: { retried: "pending", dependency_revived: "pending" },
} as const satisfies Table<TaskStatus, TaskTrigger>;

export const stepTask = (from: TaskStatus, on: TaskTrigger): Step<TaskStatus> =>
  step<TaskStatus, TaskTrigger>(TASK, from, on);
