/** An agent that can be installed, and how far it is. */
import { z } from "zod";
import { AGENT_PINS, type AgentName } from "../agent-packages.ts";
import { Timestamp } from "../time.ts";

export const AgentPackageName = z.enum(Object.keys(AGENT_PINS) as [AgentName, ...AgentName[]]);

export const AgentPackage = z.object({
  name: AgentPackageName,
  title: z.string(),
  npm_package: z.string(),
  version: z.string(),
  state: z.enum(["absent", "installing", "installed", "failed"]),
  /** 0 to 100, against the size that is expected; null when nothing is under way. */
  progress_percent: z.int().min(0).max(100).nullable(),
  /** What is being done, or why it failed, in words for people. */
  detail: z.string().nullable(),
  /** On disk, about. */
  size_bytes: z.int().nonnegative(),
  installed_at: Timestamp.nullable(),
  /** Other versions that still lie on the disk. */
  other_versions: z.array(z.string()),
});
export type AgentPackage = z.infer<typeof AgentPackage>;
