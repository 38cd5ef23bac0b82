/** One session as an HTML file that shows any moment of it without a server: the page for it, and the log as text inside. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { AppError, type SandboxId } from "@drover/contract";
import { mapTexts, type SecretMask } from "@drover/core";
import { listSession } from "../../store/archive.ts";
import { insertAudit } from "../../store/audit.ts";
import { loadSandbox, type SandboxRow } from "../../store/sandboxes.ts";
import type { Person } from "../credential.ts";
import type { Deps } from "../deps.ts";
import type { Export } from "./export-session.ts";
import { toMask } from "./session-mask.ts";

const TEMPLATE = join(import.meta.dirname, "../../../../web/dist/run-file.html");
/** Where the run stands in it. */
const PLACE = '<script type="application/json" id="run">';
const PAGE = 500;
/** Of a longer session the newest events are taken, as its page does. */
const EVENTS_LIMIT = 60_000;

/** JSON that no parser of HTML takes for anything but text, whatever a sandbox wrote. */
const toText = (value: unknown): string => JSON.stringify(value).replaceAll("<", "\\u003c");

export async function exportRunFile(deps: Deps, actor: Person, id: SandboxId, signal: AbortSignal): Promise<Export> {
  const row = await loadSandbox.maybe(deps.db, id);
  if (row === undefined) throw new AppError("sandbox.not_found");
  const template = await readFile(TEMPLATE, "utf8");
  const border = template.indexOf(PLACE) + PLACE.length;
  await insertAudit(deps.db, {
    actor: actor.tokenId,
    action: "run_file.export",
    target: id,
    project_id: row.project_id,
    detail: { last_seq: row.last_seq },
    request_id: null,
  });
  const page = { before: template.slice(0, border), after: template.slice(border) };
  return { name: `${id}.drover.html`, chunks: write(deps, row, page, signal) };
}

async function* write(
  deps: Deps,
  row: SandboxRow,
  page: { readonly before: string; readonly after: string },
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const mask = await toMask(deps, row);
  yield Buffer.from(page.before);
  for await (const text of writeRun(deps, row, mask, signal)) yield Buffer.from(text);
  yield Buffer.from(page.after);
}

async function* writeRun(deps: Deps, row: SandboxRow, mask: SecretMask, signal: AbortSignal): AsyncGenerator<string> {
  const { id, state, runtime, model, prompt, branch } = row;
  const sandbox = mapTexts({ id, state, runtime, model, prompt, branch }, mask.mask);
  yield `{"exported_at":${toText(deps.clock.now().toISOString())},"sandbox":${toText(sandbox)},"events":[`;
  let count = Math.max(0, row.last_sandbox_seq - EVENTS_LIMIT);
  for (let isFirst = true; ; isFirst = false) {
    signal.throwIfAborted();
    const page = await listSession(deps.db, row.id, count, row.last_seq, PAGE);
    const events = page.map(({ sandbox_seq: seq, event_type, event_data, source, created_at }) =>
      toText({
        // Nothing here is looked up by them: a place in the run names an event.
        id: `event-${seq}`,
        seq,
        sandbox_seq: seq,
        event_type,
        event_data: mapTexts(event_data, mask.mask),
        source,
        created_at: created_at.toISOString(),
      }),
    );
    yield `${isFirst || events.length === 0 ? "" : ","}${events.join(",")}`;
    count = page.at(-1)?.sandbox_seq ?? count;
    if (page.length < PAGE) break;
  }
  yield "]}";
}
