/** Settings of direct runs. */
import { z } from "zod";
import type { Option } from "./options.ts";

export const WorkspaceMode = z.enum(["local", "docker", "remote", "daytona"]);
export type WorkspaceMode = z.infer<typeof WorkspaceMode>;

export const WORKSPACE_OPTIONS = {
  workspaceMode: {
    env: "WORKSPACE_MODE",
    yaml: "workspace.mode",
    schema: WorkspaceMode,
    fallback: "local",
    doc: "Where `drover run --direct` works; what cannot be had is an error, never another one.",
  },
  workspaceRoot: {
    env: "WORKSPACE_ROOT",
    yaml: "workspace.root",
    schema: z.string().startsWith("/", "is a path from the root"),
    fallback: "/tmp/drover-direct",
    doc: "With `remote`: the directory on the agent server's machine in which each direct run has one of its own.",
  },
} as const satisfies Record<string, Option>;
