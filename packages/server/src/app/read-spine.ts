/** The whole session as columns, so that scrollbar, filters and timeline cover it before any body is loaded. */
import type { SandboxId, Spine } from "@drover/contract";
import { listSpineRows, type SpineRow } from "../store/events.ts";
import type { Deps } from "./deps.ts";

const READ_LIMIT = 10_000;

/** Gives each name a number at its first use. */
function openDictionary() {
  const numbers = new Map<string, number>();
  return {
    numberOf: (name: string): number => {
      const known = numbers.get(name);
      if (known !== undefined) return known;
      numbers.set(name, numbers.size);
      return numbers.size - 1;
    },
    names: () => [...numbers.keys()],
  };
}

const toSizeClass = (bytes: number) => 32 - Math.clz32(bytes);

/** Folds rows into columns; differences and back references compress to about four bytes an event. */
export function foldSpine(sandboxId: SandboxId, afterSeq: number, rows: readonly SpineRow[]): Spine {
  const types = openDictionary();
  const tools = openDictionary();
  const lastRow = new Map<string, number>();
  const columns = {
    seq: [] as number[],
    dt: [] as number[],
    type: [] as number[],
    turn: [] as number[],
    tool: [] as number[],
    ref: [] as number[],
    size: [] as number[],
    flags: [] as number[],
  };
  let seq = afterSeq;
  let atMs = rows[0]?.created_at.getTime() ?? 0;
  rows.forEach((row, index) => {
    const ms = row.created_at.getTime();
    columns.seq.push(row.seq - seq);
    columns.dt.push(ms - atMs);
    columns.type.push(types.numberOf(row.event_type));
    columns.turn.push(row.turn ?? 0);
    columns.tool.push(row.tool === null ? 0 : 1 + tools.numberOf(row.tool));
    const before = row.ref === null ? undefined : lastRow.get(row.ref);
    columns.ref.push(before === undefined ? 0 : index - before);
    if (row.ref !== null) lastRow.set(row.ref, index);
    columns.size.push(toSizeClass(row.size));
    columns.flags.push(row.flags);
    seq = row.seq;
    atMs = ms;
  });
  return {
    sandbox_id: sandboxId,
    after_seq: afterSeq,
    last_seq: seq,
    count: rows.length,
    types: types.names(),
    tools: tools.names(),
    started_at: rows[0]?.created_at.toISOString() ?? null,
    ...columns,
  };
}

export async function readSpine(deps: Deps, sandboxId: SandboxId, afterSeq: number): Promise<Spine> {
  const rows: SpineRow[] = [];
  for (;;) {
    const page = await listSpineRows(deps.db, sandboxId, rows.at(-1)?.seq ?? afterSeq, READ_LIMIT);
    for (const row of page) rows.push(row);
    if (page.length < READ_LIMIT) return foldSpine(sandboxId, afterSeq, rows);
  }
}
