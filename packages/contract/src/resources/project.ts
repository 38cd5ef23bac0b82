/** A project: a repository and its settings. Every sandbox belongs to one, and roles are given per project. */
import { z } from "zod";
import { ProjectId } from "../ids.ts";
import { Timestamp } from "../time.ts";

const ProjectName = z.string().trim().min(1).max(100);

export const NewProject = z.strictObject({
  name: ProjectName,
  description: z.string().max(2_000).optional(),
  repo: z.string().min(1).max(1_000).optional(),
});
export type NewProject = z.infer<typeof NewProject>;

export const ProjectChange = z.strictObject({
  name: ProjectName.optional(),
  description: z.string().max(2_000).nullable().optional(),
  repo: z.string().min(1).max(1_000).nullable().optional(),
});
export type ProjectChange = z.infer<typeof ProjectChange>;

export const Project = z.object({
  id: ProjectId,
  name: z.string(),
  description: z.string().nullable(),
  repo: z.string().nullable(),
  is_default: z.boolean(),
  created_at: Timestamp,
});
export type Project = z.infer<typeof Project>;
