/** The graph of work as a picture: what waits for what, the path that decides, and how far each part is. */
import "@xyflow/react/dist/style.css";
import dagre from "@dagrejs/dagre";
import type { Graph, GraphNode } from "@drover/contract";
import {
  Background,
  Controls,
  Handle,
  MiniMap,
  Position,
  ReactFlow,
  type Edge,
  type Node,
  type NodeProps,
  type ReactFlowInstance,
} from "@xyflow/react";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Route } from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";
import { useKeys } from "../app/keys.ts";
import { formatPeriod, plural } from "../data/format.ts";
import { useAppearance } from "../data/preferences.ts";
import { cx } from "../ui/class-names.ts";
import { Choice } from "../ui/field.tsx";
import { lookOfStatus } from "./badges.tsx";
import { NodeSheet } from "./node-sheet.tsx";
import { Outline } from "./outline.tsx";

const WIDTH = 220;
const HEIGHT = 64;

/** What is drawn beside the sheet must not lie under it. */
const SHEET_WIDTH = 432;
const SHEET_FROM = 768;
const CLEARANCE = 16;

type WorkNode = Node<{ readonly node: GraphNode; readonly waitsFor: readonly string[] }, "work">;

const ARROWS: ReadonlySet<string> = new Set(["depends_on", "ticket_blocks", "spawned_from"]);
const OVER: ReadonlySet<string> = new Set(["completed", "skipped", "done"]);

/** Left to right; the server says who waits for whom, the layout only where it stands. */
function toPicture(graph: Graph): { readonly nodes: WorkNode[]; readonly edges: Edge[] } {
  const known = new Set(graph.nodes.map((node) => node.id));
  const edges = graph.edges.filter((edge) => ARROWS.has(edge.type) && known.has(edge.source) && known.has(edge.target));
  const layout = new dagre.graphlib.Graph();
  layout.setGraph({ rankdir: "LR", nodesep: 22, ranksep: 56 });
  layout.setDefaultEdgeLabel(() => ({}));
  for (const node of graph.nodes) layout.setNode(node.id, { width: WIDTH, height: HEIGHT });
  for (const edge of edges) layout.setEdge(edge.source, edge.target);
  dagre.layout(layout);
  const byId = new Map(graph.nodes.map((node) => [node.id, node]));
  const toWaits = (node: GraphNode): readonly string[] => {
    const before = edges.filter(({ target }) => target === node.id).flatMap(({ source }) => byId.get(source) ?? []);
    if (!node.is_blocked) return [];
    return before.flatMap(({ status, label }) => (OVER.has(status) ? [] : [label])).toSorted();
  };
  const critical = new Set<string>(graph.nodes.filter((node) => node.is_critical).map((node) => node.id));
  return {
    nodes: graph.nodes.map((node) => {
      const { x, y } = layout.node(node.id);
      const waitsFor = toWaits(node);
      return {
        id: node.id,
        type: "work" as const,
        position: { x: x - WIDTH / 2, y: y - HEIGHT / 2 },
        data: { node, waitsFor },
        width: WIDTH,
        height: HEIGHT,
        draggable: false,
        connectable: false,
        ariaLabel: toLabel(node, waitsFor),
      };
    }),
    edges: edges.map((edge) => {
      const isCritical = critical.has(edge.source) && critical.has(edge.target);
      return {
        id: `${edge.source}/${edge.target}/${edge.type}`,
        source: edge.source,
        target: edge.target,
        focusable: false,
        className: isCritical ? "critical" : "",
        style: { stroke: isCritical ? "var(--wait)" : "var(--line-strong)", strokeWidth: isCritical ? 2.5 : 1.25 },
      };
    }),
  };
}

const toLabel = (node: GraphNode, waitsFor: readonly string[]): string =>
  [
    node.label,
    node.status,
    waitsFor.length > 0 ? `waits for ${waitsFor.join(" and ")}` : null,
    node.is_critical ? "on the critical path" : null,
    node.slack_seconds !== null && node.slack_seconds > 0
      ? `${formatPeriod(node.slack_seconds * 1_000)} of slack`
      : null,
  ]
    .filter((part) => part !== null)
    .join(", ");

function Drawn({ data: { node, waitsFor } }: NodeProps<WorkNode>) {
  const { node: shownId } = useSearch({ strict: false });
  const { icon: Icon, look, isTurning, word } = lookOfStatus(node.status);
  return (
    <div
      data-node={node.id}
      data-status={node.status}
      data-critical={node.is_critical}
      className={cx(
        "flex h-16 w-[220px] flex-col justify-center gap-1 rounded-lg border bg-surface px-3 text-left shadow-card",
        node.is_critical ? "border-wait" : "border-line",
        node.id === shownId && "ring-2 ring-live",
      )}
    >
      <Handle type="target" position={Position.Left} className="invisible!" />
      <span className="truncate text-xs font-medium text-ink">{node.label}</span>
      <span className="flex min-w-0 items-center gap-1.5 text-2xs whitespace-nowrap text-ink-3 tabular-nums">
        <span className={cx("inline-flex shrink-0 items-center gap-1 rounded-full px-1.5 py-px font-semibold", look)}>
          <Icon size={10} aria-hidden className={cx(isTurning && "animate-spin")} />
          {word ?? node.status.replaceAll("_", " ")}
        </span>
        {waitsFor.length > 0 ? (
          <span className="min-w-0 truncate" title={`waits for ${waitsFor.join(", ")}`}>
            waits for {waitsFor.join(", ")}
          </span>
        ) : (
          node.duration_seconds !== null && formatPeriod(node.duration_seconds * 1_000)
        )}
        {node.slack_seconds !== null && node.slack_seconds > 0 && (
          <span className="ml-auto" title="It may take this much longer without delaying the end">
            {formatPeriod(node.slack_seconds * 1_000)} slack
          </span>
        )}
      </span>
      <Handle type="source" position={Position.Right} className="invisible!" />
    </div>
  );
}

const NODE_TYPES = { work: Drawn };
const FIT = { padding: 0.08, maxZoom: 1 } as const;
/** Beyond so many parts a small map helps to find one's way. */
const MAPPED = 12;
const LOOKS = [
  { value: "picture", label: "Picture" },
  { value: "words", label: "In words" },
] as const;

export function Dag({ graph }: { readonly graph: Graph }) {
  const navigate = useNavigate();
  const { isDark } = useAppearance();
  const { nodes, edges } = useMemo(() => toPicture(graph), [graph]);
  const [look, setLook] = useState<"picture" | "words">(() => (innerWidth < SHEET_FROM ? "words" : "picture"));
  const flow = useRef<ReactFlowInstance<WorkNode> | null>(null);
  useKeys({ fit: () => void flow.current?.fitView(FIT) });
  const { critical_path_seconds: seconds, critical_path: path } = graph.metadata;
  const { node: shownId } = useSearch({ strict: false });
  const shown = graph.nodes.find((node) => node.id === shownId);
  const box = useRef<HTMLDivElement>(null);
  const show = (id: string | undefined) =>
    void navigate({
      to: ".",
      search: ({ node: _, ...old }) => (id === undefined ? old : { ...old, node: id }),
      replace: shownId !== undefined,
      resetScroll: false,
    });
  const uncover = () => {
    const drawn = box.current?.querySelector(`.react-flow__node[data-id="${CSS.escape(shownId ?? "")}"]`);
    if (drawn === null || drawn === undefined || innerWidth < SHEET_FROM) return;
    const covered = drawn.getBoundingClientRect().right + CLEARANCE - (innerWidth - SHEET_WIDTH);
    const view = flow.current?.getViewport();
    if (view !== undefined && covered > 0) void flow.current?.setViewport({ ...view, x: view.x - covered });
  };
  useEffect(uncover, [shownId]);
  const close = () => {
    show(undefined);
    const id = shownId === undefined ? "" : CSS.escape(shownId);
    const place = look === "words" ? `[data-outline="${id}"] a` : `.react-flow__node[data-id="${id}"]`;
    box.current?.querySelector<HTMLElement>(place)?.focus({ preventScroll: true });
  };
  return (
    <div ref={box} className="flex min-h-0 flex-1 flex-col">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2 text-xs text-ink-3 tabular-nums">
        <span>{plural(graph.metadata.total_tasks, "task")}</span>
        {path.length > 0 && (
          <span className="inline-flex items-center gap-1 text-wait-ink">
            <Route size={13} aria-hidden /> critical path: {plural(path.length, "task")},{" "}
            {formatPeriod(seconds * 1_000)}
          </span>
        )}
        {graph.metadata.blocked_count > 0 && <span>{graph.metadata.blocked_count} blocked</span>}
        {graph.overlaps.length > 0 && (
          <span title={graph.overlaps.map((overlap) => overlap.example).join("\n")}>
            {plural(graph.overlaps.length, "pair")} may touch the same files and will run one after the other
          </span>
        )}
        <span className="flex-1" />
        <Choice label="Show the graph" value={look} options={LOOKS} onChange={setLook} />
      </div>
      {look === "words" && <Outline graph={graph} />}
      <div className={cx("min-h-56 flex-1", look === "words" && "hidden")} data-testid="dag">
        <ReactFlow<WorkNode>
          nodes={nodes}
          edges={edges}
          nodeTypes={NODE_TYPES}
          colorMode={isDark ? "dark" : "light"}
          fitView
          fitViewOptions={FIT}
          onInit={(instance) => {
            flow.current = instance;
            requestAnimationFrame(uncover);
          }}
          style={{ background: "transparent" }}
          minZoom={0.1}
          maxZoom={1.5}
          nodesDraggable={false}
          nodesConnectable={false}
          edgesFocusable={false}
          onNodeClick={(_, node) => show(node.id)}
          onKeyDown={(event) => {
            const id = (event.target as HTMLElement).closest<HTMLElement>("[data-id]")?.dataset["id"];
            if (event.key === "Enter" && id !== undefined) show(id);
          }}
        >
          <Background gap={20} />
          <Controls showInteractive={false} />
          {nodes.length > MAPPED && <MiniMap pannable ariaLabel="Map of the graph" className="max-md:hidden" />}
        </ReactFlow>
      </div>
      {shown !== undefined && <NodeSheet graph={graph} node={shown} onShow={show} onClose={close} />}
    </div>
  );
}
