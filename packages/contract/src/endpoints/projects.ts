/** Projects. */
import { z } from "zod";
import { endpoint } from "../endpoint.ts";
import { ProjectId } from "../ids.ts";
import { NewProject, Project, ProjectChange } from "../resources/project.ts";
import { page, Paging } from "./page.ts";

const projectRef = z.object({ project_id: ProjectId });

export const projectEndpoints = {
  listProjects: endpoint({
    method: "GET",
    path: "/projects",
    access: "person",
    verb: "read",
    summary: "The projects this credential may see.",
    query: z.strictObject(Paging),
    reply: page(Project),
  }),
  createProject: endpoint({
    method: "POST",
    path: "/projects",
    access: "person",
    verb: "administer",
    summary: "Create a project.",
    body: NewProject,
    reply: Project,
    status: 201,
    creates: true,
  }),
  getProject: endpoint({
    method: "GET",
    path: "/projects/:project_id",
    access: "person",
    verb: "read",
    summary: "One project.",
    params: projectRef,
    reply: Project,
  }),
  updateProject: endpoint({
    method: "PATCH",
    path: "/projects/:project_id",
    access: "person",
    verb: "administer",
    summary: "Change a project.",
    params: projectRef,
    body: ProjectChange,
    reply: Project,
  }),
} as const;
