/** What no agent does, whatever it is allowed: undo the worker's own records, or plant programs for Git to run. */
import { isAbsolute, relative, resolve } from "node:path";
import type { WorkOrder } from "../../agent-runtime.ts";
import { decidePermission } from "../../permissions.ts";
import type { HookInput } from "./sdk.ts";

const isBelow = (root: string, path: string): boolean => {
  const way = relative(root, path);
  return way === "" || (!way.startsWith("..") && !isAbsolute(way));
};

/** Why a call may not happen; undefined when it may. */
export function refuseTool(
  order: Pick<WorkOrder, "cwd" | "home" | "permissionPolicy">,
  { tool_name: tool, tool_input: input }: Pick<HookInput, "tool_name" | "tool_input">,
): string | undefined {
  const { rules } = order.permissionPolicy;
  // Rules hold also for calls that the agent would not ask about.
  if (decidePermission({ decision: "allow", rules }, { kind: "tool", tool }) === "deny")
    return `the policy of this sandbox does not allow ${tool}`;
  const given = input["file_path"] ?? input["notebook_path"];
  if (typeof given !== "string" || tool === "Read") return undefined;
  const path = resolve(order.cwd, given);
  if (isBelow(resolve(order.home, ".."), path)) return `${given} belongs to the worker`;
  const way = relative(order.cwd, path).split("/");
  return way.includes(".git") ? `${given} is Git's own: use git commands` : undefined;
}
