/** Tasks and tickets that would wait for each other, over whatever others and however many tickets. */
import { findCycle } from "@drover/core";
import { AppError, type TaskId, type TicketId } from "@drover/contract";
import type { Db } from "../ports/db.ts";
import { listWaitsBelow } from "../store/waits.ts";

/** In the graph a ticket has another name than a task. */
export type Node = TaskId | `ticket ${TicketId}`;
export const toNode = (id: TicketId): Node => `ticket ${id}`;

/** The way round from a task or ticket to itself; `also` is what it shall wait for too. */
export async function findCircle(
  db: Db,
  start: Node,
  also: readonly TaskId[] = [],
): Promise<readonly Node[] | undefined> {
  const graph = new Map<Node, Node[]>();
  for (const { node, waits_for } of await listWaitsBelow(db, [start, ...also]))
    graph.set(node, [...(graph.get(node) ?? []), waits_for]);
  graph.set(start, [...(graph.get(start) ?? []), ...also]);
  return findCycle(graph, start);
}

/** Throws with the way round. Asked while the lock of the project's edges is held. */
export async function requireNoCircle(tx: Db, start: Node, also: readonly TaskId[] = []): Promise<void> {
  const circle = await findCircle(tx, start, also);
  if (circle !== undefined)
    throw new AppError("graph.cycle", `these would wait for each other: ${circle.join(" -> ")}`);
}
