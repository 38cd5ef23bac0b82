/** A project: a repository and its settings. Every sandbox belongs to one, and roles are given per project. */
import { z } from "zod";
import { ProjectId } from "../ids.ts";
import { JsonObject } from "../json.ts";
import { Timestamp } from "../time.ts";
import { PermissionMode } from "./agent-options.ts";
import { CassetteName, Provider, RuntimeName } from "./sandbox.ts";

const ProjectName = z.string().trim().min(1).max(100);

/** An agent that merges branches which conflict, in a sandbox of its own. Without it a person does. */
const ConflictResolver = z.strictObject({
  runtime: RuntimeName.optional(),
  model: z.string().min(1).max(200).optional(),
  /** Recorded answers that come with Drover, in place of a model. */
  cassette: CassetteName.optional(),
  /** For the `scripted` runtime. */
  script: JsonObject.optional(),
  budget_usd: z.number().nonnegative().optional(),
  timeout_seconds: z.int().positive().max(86_400).default(300),
  /** More files than these are for a person. */
  max_conflicts: z.int().positive().max(1_000).default(10),
});
export type ConflictResolver = z.infer<typeof ConflictResolver>;

/** What must succeed, in a sandbox, on merged branches before they are kept. */
const MergeTests = z.strictObject({
  argv: z.array(z.string().min(1).max(10_000)).min(1).max(100),
  timeout_seconds: z.int().positive().max(86_400).default(600),
});
export type MergeTests = z.infer<typeof MergeTests>;

const settingShapes = {
  provider: Provider,
  runtime: RuntimeName,
  model: z.string().min(1).max(200),
  network: z.enum(["none", "allowlist", "open"]),
  permission_mode: PermissionMode,
  /** Tasks of the project that run at once. */
  max_concurrent_tasks: z.int().min(1).max(1_000),
  default_branch: z.string().min(1).max(250),
  /** Unless false, tasks work on branches of the project's repository; else in empty workspaces, and a ticket is done with its last task. */
  branches_enabled: z.boolean(),
  /** New tasks are looked at by a second agent before they count as done. */
  validation_enabled: z.boolean(),
  /** New tickets wait for a person. */
  ticket_human_review: z.boolean(),
  /** A pull request that can be merged is merged without a person. */
  auto_merge: z.boolean(),
  task_timeout_seconds: z.int().positive().max(604_800),
  conflict_resolver: ConflictResolver,
  merge_tests: MergeTests,
  /** Sessions that ended longer ago are removed, with their events, artifacts and files; kept for ever unless set. */
  retention_days: z.int().positive().max(36_500),
} as const;

export const ProjectSettings = z.strictObject(settingShapes).partial();
export type ProjectSettings = z.infer<typeof ProjectSettings>;

/** A key that is null is taken away; one that is not named stays. */
const SettingsChange = z
  .strictObject({
    provider: settingShapes.provider.nullable(),
    runtime: settingShapes.runtime.nullable(),
    model: settingShapes.model.nullable(),
    network: settingShapes.network.nullable(),
    permission_mode: settingShapes.permission_mode.nullable(),
    max_concurrent_tasks: settingShapes.max_concurrent_tasks.nullable(),
    default_branch: settingShapes.default_branch.nullable(),
    branches_enabled: settingShapes.branches_enabled.nullable(),
    validation_enabled: settingShapes.validation_enabled.nullable(),
    ticket_human_review: settingShapes.ticket_human_review.nullable(),
    auto_merge: settingShapes.auto_merge.nullable(),
    task_timeout_seconds: settingShapes.task_timeout_seconds.nullable(),
    conflict_resolver: settingShapes.conflict_resolver.nullable(),
    merge_tests: settingShapes.merge_tests.nullable(),
    retention_days: settingShapes.retention_days.nullable(),
  })
  .partial();

export const ProjectStatus = z.enum(["active", "archived", "completed"]);
export type ProjectStatus = z.infer<typeof ProjectStatus>;

export const NewProject = z.strictObject({
  name: ProjectName,
  description: z.string().max(2_000).optional(),
  repo: z.string().min(1).max(1_000).optional(),
  autonomous_execution_enabled: z.boolean().optional(),
  settings: ProjectSettings.optional(),
});
export type NewProject = z.infer<typeof NewProject>;

export const ProjectChange = z.strictObject({
  name: ProjectName.optional(),
  description: z.string().max(2_000).nullable().optional(),
  repo: z.string().min(1).max(1_000).nullable().optional(),
  status: ProjectStatus.optional(),
  autonomous_execution_enabled: z.boolean().optional(),
  settings: SettingsChange.optional(),
});
export type ProjectChange = z.infer<typeof ProjectChange>;

export const Project = z.object({
  id: ProjectId,
  name: z.string(),
  description: z.string().nullable(),
  repo: z.string().nullable(),
  is_default: z.boolean(),
  status: ProjectStatus,
  /** Ready tasks are started without being asked for. */
  autonomous_execution_enabled: z.boolean(),
  settings: ProjectSettings,
  created_at: Timestamp,
});
export type Project = z.infer<typeof Project>;
