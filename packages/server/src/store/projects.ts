/** Projects. */
import { ProjectId, ProjectSettings, ProjectStatus } from "@drover/contract";
import { z } from "zod";
import { query } from "./query.ts";
import { empty, json, sql } from "./sql.ts";

const SAMPLE_ID = "project-00000000-0000-4000-8000-000000000000" as ProjectId;

export const ProjectRow = z.object({
  id: ProjectId,
  name: z.string(),
  description: z.string().nullable(),
  repo: z.string().nullable(),
  is_default: z.boolean(),
  status: ProjectStatus,
  autonomous_execution_enabled: z.boolean(),
  settings: ProjectSettings,
  created_at: z.date(),
});
export type ProjectRow = z.infer<typeof ProjectRow>;

const columns = sql`id, name, description, repo, is_default, status, autonomous_execution_enabled, settings, created_at`;

export interface ProjectDraft {
  readonly id: ProjectId;
  readonly name: string;
  readonly description: string | null;
  readonly repo: string | null;
  readonly is_default: boolean;
  readonly autonomous_execution_enabled?: boolean;
  readonly settings?: ProjectSettings;
}

/** Nothing is returned when the name is taken. */
export const insertProject = query(
  "projects.insert",
  ProjectRow,
  [{ id: SAMPLE_ID, name: "a", description: null, repo: null, is_default: false }],
  (draft: ProjectDraft) => sql`
  insert into projects (id, name, description, repo, is_default, autonomous_execution_enabled, settings)
  values (${draft.id}, ${draft.name}, ${draft.description}, ${draft.repo}, ${draft.is_default},
    ${draft.autonomous_execution_enabled ?? false}, ${json(draft.settings ?? {})}::jsonb)
  on conflict do nothing returning ${columns}`,
);

export const loadProject = query(
  "projects.load",
  ProjectRow,
  [SAMPLE_ID],
  (id: string) => sql`select ${columns} from projects where id = ${id}`,
);

export const loadDefaultProject = query(
  "projects.load_default",
  ProjectRow,
  [],
  () => sql`select ${columns} from projects where is_default`,
);

export const listProjects = query(
  "projects.list",
  ProjectRow,
  [null, undefined, 10],
  (onlyId: string | null, afterId: string | undefined, limit: number) => sql`
  select ${columns} from projects where true ${onlyId === null ? empty : sql`and id = ${onlyId}`} ${afterId === undefined ? empty : sql`and id > ${afterId}`}
  order by id limit ${limit}`,
);

export interface ProjectPatch {
  readonly name: string | undefined;
  readonly description: string | null | undefined;
  readonly repo: string | null | undefined;
  readonly status?: string | undefined;
  readonly autonomous_execution_enabled?: boolean | undefined;
  /** Merged into what is there; a key that is null goes away. */
  readonly settings?: Readonly<Record<string, unknown>> | undefined;
}

/** Nothing is returned when another project has the name. */
export const updateProject = query(
  "projects.update",
  ProjectRow,
  [SAMPLE_ID, { name: "a", description: null, repo: null }],
  (id: ProjectId, patch: ProjectPatch) => sql`
  update projects p set
    name = ${patch.name === undefined ? sql`p.name` : sql`${patch.name}`},
    description = ${patch.description === undefined ? sql`p.description` : sql`${patch.description}`},
    repo = ${patch.repo === undefined ? sql`p.repo` : sql`${patch.repo}`},
    status = ${patch.status === undefined ? sql`p.status` : sql`${patch.status}`},
    autonomous_execution_enabled = ${patch.autonomous_execution_enabled ?? sql`p.autonomous_execution_enabled`},
    settings = ${patch.settings === undefined ? sql`p.settings` : sql`jsonb_strip_nulls(p.settings || ${json(patch.settings)}::jsonb)`}
  where p.id = ${id} and not exists (select 1 from projects o where o.id <> ${id} and o.name = ${patch.name ?? null}::text)
  returning ${columns}`,
);
