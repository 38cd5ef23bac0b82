/** What a worker says about its task. */
import { z } from "zod";
import { endpoint } from "../endpoint.ts";
import { SandboxId, TaskId } from "../ids.ts";
import { Discovery, NewDiscovery, TaskCompletion, TaskStatus, ValidationVerdict } from "../resources/task.ts";

const fromWorker = { method: "POST", access: "worker", params: z.object({ sandbox_id: SandboxId }) } as const;

export const workReportEndpoints = {
  completeTask: endpoint({
    path: "/sandboxes/:sandbox_id/task-complete",
    summary: "The sandbox's task is over. Said twice it counts once.",
    body: TaskCompletion,
    reply: z.object({
      status: z.literal("accepted"),
      task_id: TaskId,
      new_status: TaskStatus,
      unblocked_tasks: z.array(TaskId),
    }),
    ...fromWorker,
  }),
  reportValidation: endpoint({
    path: "/sandboxes/:sandbox_id/validation-result",
    summary: "A validator's verdict on the task that it was started for.",
    body: ValidationVerdict,
    reply: z.object({
      status: z.literal("accepted"),
      task_id: TaskId,
      validation_passed: z.boolean(),
      new_task_status: TaskStatus,
    }),
    ...fromWorker,
  }),
  reportDiscovery: endpoint({
    path: "/sandboxes/:sandbox_id/discoveries",
    summary: "Work that was found on the way: noted, and made into tasks of the same ticket.",
    body: NewDiscovery,
    reply: Discovery,
    status: 201,
    creates: true,
    ...fromWorker,
  }),
} as const;
