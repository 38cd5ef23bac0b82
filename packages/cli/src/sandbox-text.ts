/** Sandboxes as text for people. */
import type { Sandbox, StateAt } from "@drover/contract";
import { toElapsed } from "./elapsed.ts";
import { toUsd } from "./money.ts";
import { formatTable, formatTexts } from "./table.ts";

export function formatSandboxes(sandboxes: readonly Sandbox[], now: Date, width: number): readonly string[] {
  const rows = sandboxes.map((one) => [
    one.id,
    one.state,
    one.enforced_by?.["isolation"] === "unsafe" ? `${one.provider} UNSAFE` : one.provider,
    one.health,
    String(one.turn),
    String(one.event_count),
    toElapsed(one.created_at, now),
    one.prompt ?? one.runtime ?? "",
  ]);
  return formatTable(["ID", "STATE", "PROVIDER", "HEALTH", "TURN", "EVENTS", "AGE", "WORK"], rows, width);
}

/** What it is made from, and who said so. */
function toSource(resources: Sandbox["resources"]): string | null {
  const sources = (["snapshot", "image"] as const).flatMap((name) => {
    const found = resources?.[name] ?? null;
    return found === null ? [] : [`${name} ${found.value} (${found.origin})`];
  });
  return sources.length === 0 ? null : sources.join(", ");
}

/** What was asked for, by whom, and what really enforces it. */
function toLimits({ resources, enforced_by: by }: Sandbox): string | null {
  if (resources === null) return null;
  const amounts = [
    ["memory", `${resources.memory_gb.value} GiB memory`],
    ["cpu", `${resources.cpu.value} cores`],
    ["disk", `${resources.disk_gb.value} GiB disk`],
  ] as const;
  const origins = { memory: resources.memory_gb.origin, cpu: resources.cpu.origin, disk: resources.disk_gb.origin };
  const told = amounts.map(([name, text]) => {
    const enforcer = by?.[name] === undefined ? "" : `, ${by[name]}`;
    return `${text} (${origins[name]}${enforcer})`;
  });
  const others = Object.entries(by ?? {}).filter(([name]) => !amounts.some(([known]) => known === name));
  return [...told, ...others.map(([name, enforcer]) => `${name}: ${enforcer}`)].join(", ");
}

export function formatSandbox(sandbox: Sandbox, now: Date, width: number): readonly string[] {
  const at = (time: string | null) => (time === null ? null : `${time} (${toElapsed(time, now)} ago)`);
  const labels = Object.entries(sandbox.labels).map(([name, value]) => `${name}=${value}`);
  const texts: readonly (readonly [string, string | number | null])[] = [
    ["id", sandbox.id],
    ["state", sandbox.state_cause === null ? sandbox.state : `${sandbox.state} (${sandbox.state_cause})`],
    ["health", sandbox.health],
    ["generation", sandbox.generation],
    ["provider", sandbox.provider_id === null ? sandbox.provider : `${sandbox.provider} ${sandbox.provider_id}`],
    ["limits", toLimits(sandbox)],
    ["made from", toSource(sandbox.resources)],
    ["runtime", sandbox.model === null ? sandbox.runtime : `${sandbox.runtime ?? ""} ${sandbox.model}`.trim()],
    ["project", sandbox.project_id],
    ["task", sandbox.task_id],
    ["repository", sandbox.repo],
    ["branch", sandbox.branch],
    ["labels", labels.length === 0 ? null : labels.join(" ")],
    ["turn", sandbox.turn],
    ["events", `${sandbox.event_count}, last ${sandbox.last_event_type ?? "none"}`],
    ["created", at(sandbox.created_at)],
    ["started", at(sandbox.started_at)],
    ["last event", at(sandbox.last_event_at)],
    ["heartbeat", at(sandbox.last_heartbeat_at)],
    ["ended", at(sandbox.ended_at)],
    ["prompt", sandbox.prompt],
  ];
  return formatTexts(texts, width);
}

export const formatStateAt = (then: StateAt, width: number): readonly string[] =>
  formatTexts(
    [
      ["id", then.sandbox_id],
      ["as of event", then.at_seq],
      ["state", then.state_cause === null ? then.state : `${then.state} (${then.state_cause})`],
      ["generation", then.generation],
      ["turn", then.turn],
      ["events", `${then.event_count}, last ${then.last_event_type ?? "none"}`],
      ["last event", then.last_event_at],
      ["edits", then.edits],
      ["files of", then.checkpoint === null ? null : `${then.checkpoint.commit} (event ${then.checkpoint.seq})`],
      ["messages", `${then.messages}, ${then.messages_read} read`],
      ["cost", toUsd(then.cost_usd)],
    ],
    width,
  );
