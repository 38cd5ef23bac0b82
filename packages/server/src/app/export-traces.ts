/** Tells every run that is over to a collector of traces: read off the stored log, with ids that follow from it. */
import { createHash } from "node:crypto";
import { openRunSpans, type RunSpan } from "@drover/core";
import type { SandboxId } from "@drover/contract";
import type { IdentifiedSpan, Traces } from "../ports/traces.ts";
import { listEventsToFold } from "../store/supervision.ts";
import { claimUntraced, markTraced, restTrace } from "../store/traces.ts";
import type { Deps } from "./deps.ts";

const PAGE = 1_000;
const SPANS_AT_ONCE = 500;
const FIRST_REST_SECONDS = 5;
const LONGEST_REST_SECONDS = 600;
const AT_ONCE = 20;

const toHex = (text: string, bytes: number): string =>
  createHash("sha256")
    .update(text)
    .digest("hex")
    .slice(0, bytes * 2);

/** The same run has the same ids, whoever tells it and however often. */
function identify(installation: string, id: SandboxId, { key, parent, ...span }: RunSpan): IdentifiedSpan {
  const toSpanId = (one: string) => toHex(`${installation} ${id} ${one}`, 8);
  return {
    ...span,
    traceId: toHex(`${installation} ${id}`, 16),
    spanId: toSpanId(key),
    parentSpanId: parent === null ? null : toSpanId(parent),
  };
}

type Claimed = Awaited<ReturnType<typeof claimUntraced>>[number];

async function readSpans(deps: Deps, row: Claimed): Promise<readonly IdentifiedSpan[]> {
  const fold = openRunSpans(
    {
      id: row.id,
      projectId: row.project_id,
      taskId: row.task_id,
      provider: row.provider,
      runtime: row.runtime ?? "agent",
      model: row.model,
      state: row.state,
      cause: row.state_cause,
      prompt: row.prompt,
      createdMs: row.created_at.getTime(),
      closedMs: row.closed_at.getTime(),
    },
    deps.config.otelCaptureContent,
  );
  for (let after = 0; ;) {
    const page = await listEventsToFold(deps.db, row.id, after, PAGE, null);
    for (const event of page) fold.take({ ...event, atMs: event.created_at.getTime() });
    after = page.at(-1)?.seq ?? after;
    if (page.length < PAGE) return fold.end().map((span) => identify(deps.installation, row.id, span));
  }
}

async function tell(deps: Deps, traces: Traces, row: Claimed): Promise<boolean> {
  const spans = await readSpans(deps, row);
  for (let start = 0; start < spans.length; start += SPANS_AT_ONCE) {
    const refusal = await traces.send(spans.slice(start, start + SPANS_AT_ONCE));
    if (refusal === undefined) continue;
    deps.log.warn("trace.not_sent", { sandbox: row.id, tries: row.tries, reason: refusal });
    await restTrace(deps.db, row.id, Math.min(FIRST_REST_SECONDS * 2 ** (row.tries - 1), LONGEST_REST_SECONDS));
    return false;
  }
  await markTraced(deps.db, row.id);
  return true;
}

/** Stops at the first refusal: a collector that is away is asked about one run, not about all. */
export async function exportTracesOnce(deps: Deps, signal: AbortSignal): Promise<{ told: number }> {
  let told = 0;
  if (deps.traces === undefined) return { told };
  while (told < AT_ONCE && !signal.aborted) {
    const row = await claimUntraced.maybe(deps.db);
    if (row === undefined || !(await tell(deps, deps.traces, row))) break;
    told += 1;
  }
  return { told };
}
