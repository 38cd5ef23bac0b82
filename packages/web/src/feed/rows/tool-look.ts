/** What a tool that is no command, read or edit looks like: a sub-agent, a skill, a tool of an MCP server, the web. */
import { readText, toSubject, type ToolCall } from "@drover/contract/views";
import { Bot, Globe, Plug, Sparkles, Wrench, type LucideIcon } from "lucide-react";

export interface ToolLook {
  readonly kind: "subagent" | "skill" | "mcp" | "web" | "other";
  readonly icon: LucideIcon;
  readonly name: string;
  readonly subject: string;
}

const MCP = /^mcp__(.+?)__(.+)$/;
const SUBAGENT_TOOLS: ReadonlySet<string> = new Set(["task", "agent", "subagent"]);
const WEB_TOOLS: ReadonlySet<string> = new Set(["webfetch", "websearch", "web_fetch", "web_search", "fetch"]);

export function toToolLook(call: ToolCall): ToolLook {
  const { tool, input } = call;
  const [, server, name] = MCP.exec(tool) ?? [];
  if (server !== undefined && name !== undefined)
    return { kind: "mcp", icon: Plug, name: `${server} › ${name}`, subject: toSubject(call) };
  const type = readText(input, "subagent_type");
  if (type !== null || SUBAGENT_TOOLS.has(tool.toLowerCase()))
    return {
      kind: "subagent",
      icon: Bot,
      name: `Sub-agent ${type ?? ""}`.trim(),
      subject: readText(input, "description", "prompt") ?? "",
    };
  if (tool.toLowerCase() === "skill")
    return {
      kind: "skill",
      icon: Sparkles,
      name: "Skill",
      subject: readText(input, "skill", "skill_name", "command", "name") ?? "",
    };
  if (WEB_TOOLS.has(tool.toLowerCase())) return { kind: "web", icon: Globe, name: tool, subject: toSubject(call) };
  return { kind: "other", icon: Wrench, name: tool, subject: toSubject(call) };
}
