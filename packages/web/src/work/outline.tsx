/** The graph of work in words: each part below the last one that it waits for. The picture tells the same to eyes. */
import type { Graph, GraphNode } from "@drover/contract";
import { Link } from "@tanstack/react-router";
import { Route } from "lucide-react";
import { useMemo, type ReactNode } from "react";
import { formatPeriod } from "../data/format.ts";
import { cx } from "../ui/class-names.ts";
import { lookOfStatus } from "./badges.tsx";

interface Branch {
  readonly node: GraphNode;
  readonly waitsFor: readonly GraphNode[];
  readonly below: Branch[];
}

const WAITS: ReadonlySet<string> = new Set(["depends_on", "ticket_blocks"]);

/** Who waits for several stands below the one that is furthest down; the others are named. */
function toBranches({ nodes, edges }: Graph): readonly Branch[] {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const before = new Map(nodes.map((node) => [node.id, [] as GraphNode[]]));
  for (const { source, target, type } of edges) {
    const first = byId.get(source);
    if (WAITS.has(type) && first !== undefined) before.get(target)?.push(first);
  }
  const depths = new Map<string, number>();
  const depthOf = (id: string): number => {
    const known = depths.get(id);
    if (known !== undefined) return known;
    // Work has no circles; a broken answer must not end in one.
    depths.set(id, 0);
    const depth = Math.max(0, ...(before.get(id) ?? []).map((node) => depthOf(node.id) + 1));
    depths.set(id, depth);
    return depth;
  };
  const branches = new Map(
    nodes.map((node) => [node.id, { node, waitsFor: before.get(node.id) ?? [], below: [] as Branch[] }] as const),
  );
  const roots: Branch[] = [];
  for (const branch of branches.values()) {
    const [last] = branch.waitsFor.toSorted((one, other) => depthOf(other.id) - depthOf(one.id));
    const above = last === undefined ? undefined : branches.get(last.id);
    (above?.below ?? roots).push(branch);
  }
  return roots;
}

export function Outline({ graph }: { readonly graph: Graph }) {
  const roots = useMemo(() => toBranches(graph), [graph]);
  return (
    <div
      role="region"
      aria-label="What waits for what, in words"
      tabIndex={0}
      className="min-h-56 flex-1 overflow-y-auto px-4 pb-4 focus-visible:-outline-offset-2"
    >
      <Branches branches={roots} />
    </div>
  );
}

function Branches({ branches }: { readonly branches: readonly Branch[] }) {
  return (
    <ul className="flex flex-col gap-1 [ul_&]:ml-3 [ul_&]:border-l [ul_&]:border-line [ul_&]:pl-4">
      {branches.map(({ node, waitsFor, below }) => (
        <li key={node.id} data-outline={node.id}>
          <Line node={node} waitsFor={waitsFor} />
          {below.length > 0 && <Branches branches={below} />}
        </li>
      ))}
    </ul>
  );
}

function Line({ node, waitsFor }: Pick<Branch, "node" | "waitsFor">) {
  const { icon: Icon, look, isTurning } = lookOfStatus(node.status);
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-0.5 py-1 text-sm">
      <span className={cx("inline-flex items-center gap-1 rounded-full px-2 py-px text-2xs font-semibold", look)}>
        <Icon size={10} aria-hidden className={cx(isTurning === true && "animate-spin")} />
        {node.status.replaceAll("_", " ")}
      </span>
      <To node={node}>{node.label}</To>
      {node.is_critical && (
        <span className="inline-flex items-center gap-1 text-2xs text-wait-ink">
          <Route size={11} aria-hidden /> critical path
        </span>
      )}
      {node.duration_seconds !== null && (
        <span className="text-2xs text-ink-3 tabular-nums">{formatPeriod(node.duration_seconds * 1_000)}</span>
      )}
      {node.is_blocked && waitsFor.length > 0 && (
        <span className="text-2xs text-ink-3">
          waits for{" "}
          {waitsFor
            .map(({ label }) => label)
            .toSorted()
            .join(", ")}
        </span>
      )}
    </div>
  );
}

/** Leads to the same sheet as the picture does. */
function To({ node, children }: { readonly node: GraphNode; readonly children: ReactNode }) {
  return (
    <Link
      to="."
      search={(old: object) => ({ ...old, node: node.id })}
      resetScroll={false}
      className="min-w-0 truncate font-medium underline-offset-2 hover:underline"
    >
      {children}
    </Link>
  );
}
