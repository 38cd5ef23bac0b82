/** Sandboxes: made, listed, ended. */
import { z } from "zod";
import { endpoint } from "../endpoint.ts";
import { ProjectId, SandboxId, TaskId } from "../ids.ts";
import { Prune, PruneReport } from "../resources/prune.ts";
import { Fork } from "../resources/resume.ts";
import { CreatedSandbox, NewSandbox, RuntimeName, Sandbox, SandboxState } from "../resources/sandbox.ts";
import { Task } from "../resources/task.ts";
import { Timestamp } from "../time.ts";
import { page, Paging } from "./page.ts";

const sandboxRef = z.object({ sandbox_id: SandboxId });

export const sandboxEndpoints = {
  sandboxHealth: endpoint({
    method: "GET",
    path: "/sandboxes/health",
    access: "open",
    summary: "Whether the sandbox API answers.",
    reply: z.object({ status: z.literal("ok"), service: z.literal("sandbox-api"), timestamp: Timestamp }),
  }),
  listSandboxes: endpoint({
    method: "GET",
    path: "/sandboxes",
    access: "person",
    verb: "read",
    summary: "Sandboxes, newest first.",
    query: z.strictObject({
      ...Paging,
      status: z.union([z.array(SandboxState), SandboxState.transform((one) => [one])]).optional(),
      project_id: ProjectId.optional(),
      task_id: TaskId.optional(),
      runtime: RuntimeName.optional(),
      q: z.string().min(1).max(200).optional(),
    }),
    reply: page(Sandbox),
  }),
  countSandboxes: endpoint({
    method: "GET",
    path: "/sandboxes/counts",
    access: "person",
    verb: "read",
    summary: "How many sandboxes are in each state.",
    query: z.strictObject({
      project_id: ProjectId.optional(),
      runtime: RuntimeName.optional(),
      q: z.string().min(1).max(200).optional(),
    }),
    reply: z.object({ total: z.int().nonnegative(), states: z.partialRecord(SandboxState, z.int().positive()) }),
  }),
  createSandbox: endpoint({
    method: "POST",
    path: "/sandboxes",
    access: "person",
    verb: "operate",
    summary: "Create a sandbox.",
    body: NewSandbox,
    reply: CreatedSandbox,
    status: 201,
    creates: true,
  }),
  startDemo: endpoint({
    method: "POST",
    path: "/demo",
    access: "person",
    verb: "operate",
    summary: "Start a sandbox in which a demo agent works.",
    body: z
      .strictObject({ project_id: ProjectId.optional(), runtime: z.enum(["scripted", "claude"]).optional() })
      .default({}),
    reply: Sandbox,
    status: 201,
    creates: true,
  }),
  getSandbox: endpoint({
    method: "GET",
    path: "/sandboxes/:sandbox_id",
    access: "person",
    verb: "read",
    isShared: true,
    summary: "One sandbox.",
    params: sandboxRef,
    reply: Sandbox,
  }),
  terminateSandbox: endpoint({
    method: "DELETE",
    path: "/sandboxes/:sandbox_id",
    access: "person",
    verb: "operate",
    summary: "Terminate a sandbox and revoke its worker.",
    params: sandboxRef,
    reply: Sandbox,
  }),
  pauseSandbox: endpoint({
    method: "POST",
    path: "/sandboxes/:sandbox_id/pause",
    access: "person",
    verb: "operate",
    summary: "Stop everything in a running sandbox where it stands.",
    params: sandboxRef,
    reply: Sandbox,
  }),
  resumeSandbox: endpoint({
    method: "POST",
    path: "/sandboxes/:sandbox_id/resume",
    access: "person",
    verb: "operate",
    summary: "Let a paused sandbox go on.",
    params: sandboxRef,
    reply: Sandbox,
  }),
  forkSandbox: endpoint({
    method: "POST",
    path: "/sandboxes/:sandbox_id/fork",
    access: "person",
    verb: "operate",
    summary: "A new sandbox that goes on from any place in the log of this one: with its files and memory as of then.",
    params: sandboxRef,
    body: Fork.default({}),
    reply: CreatedSandbox,
    status: 201,
    creates: true,
  }),
  cancelSandbox: endpoint({
    method: "POST",
    path: "/sandboxes/:sandbox_id/cancel",
    access: "person",
    verb: "operate",
    summary: "End a sandbox whose work is not wanted any more.",
    params: sandboxRef,
    reply: Sandbox,
  }),
  getSandboxTask: endpoint({
    method: "GET",
    path: "/sandboxes/:sandbox_id/task",
    access: "person",
    verb: "read",
    summary: "The task that a sandbox works on.",
    params: sandboxRef,
    reply: Task,
  }),
  pruneSandboxes: endpoint({
    method: "POST",
    path: "/sandboxes/prune",
    access: "person",
    verb: "administer",
    summary: "Remove what has ended: at the providers, and completed sandboxes.",
    body: Prune.default({ all: false, dry_run: false }),
    reply: PruneReport,
  }),
  replaceWorker: endpoint({
    method: "POST",
    path: "/sandboxes/:sandbox_id/worker-token",
    access: "person",
    verb: "operate",
    summary: "For provider `external`: start a new generation and tell its worker token once; the old one is fenced.",
    params: sandboxRef,
    reply: CreatedSandbox,
    status: 201,
    creates: true,
  }),
} as const;
