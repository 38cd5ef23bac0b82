/** drover guardian: what supervision sees of a run, and what it did. */
import type { Intervention, Supervision } from "@drover/contract";
import { readFile } from "node:fs/promises";
import type { GuardianScore } from "@drover/server";
import { takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { EXIT, UsageError } from "../exit-code.ts";
import { formatTable } from "../table.ts";
import type { Arguments, Context, Verb } from "../verb.ts";

const LATEST = 50;

function formatSeen(seen: Supervision, width: number): readonly string[] {
  const since = seen.condition_since === null ? "" : ` since ${seen.condition_since}`;
  const condition = `${seen.sandbox_id} is ${seen.condition ?? "not looked at yet"}${since}.`;
  if (seen.signals.length === 0) return [condition, "No sign of trouble."];
  const rows = seen.signals.map(({ signal, level, seqs, detail }) => [signal, level, seqs.join(" "), detail]);
  return [condition, ...formatTable(["SIGN", "LEVEL", "EVENTS", "WHAT"], rows, width)];
}

const formatDone = (items: readonly Intervention[], width: number): readonly string[] =>
  items.length === 0
    ? ["The guardian has done nothing."]
    : formatTable(
        ["WHEN", "SANDBOX", "STEP", "OUTCOME", "WHY"],
        items.map((one) => [one.created_at.slice(0, 19), one.sandbox_id, one.rung, one.outcome, one.reason]),
        width,
      );

const EVALUATE = "evaluate";
const toFigure = (value: number | null): string => (value === null ? "-" : value.toFixed(2));

function formatScore(
  { sessions, healthy, signals, overall, healthyDisturbed }: GuardianScore,
  width: number,
): readonly string[] {
  const rows = signals.map((one) => [
    one.signal,
    String(one.wanted),
    String(one.raised),
    toFigure(one.precision),
    toFigure(one.recall),
    one.delaySeconds === null ? "-" : `${Math.round(one.delaySeconds)} s`,
  ]);
  const disturbed = Object.entries(healthyDisturbed).map(
    ([mode, rungs]) =>
      `${mode}: ${
        Object.entries(rungs)
          .map(([rung, count]) => `${count} ${rung}`)
          .join(", ") || "none"
      }`,
  );
  return [
    `${sessions} recorded runs, ${healthy} of them healthy.`,
    ...formatTable(["SIGN", "WANTED", "RAISED", "PRECISION", "RECALL", "DELAY"], rows, width),
    `All signs: precision ${toFigure(overall.precision)}, recall ${toFigure(overall.recall)}.`,
    `Healthy runs disturbed: ${disturbed.join("; ")}.`,
  ];
}

async function evaluate(context: Context, args: Arguments, path: string): Promise<number> {
  const text = await readFile(path, "utf8").catch((cause: NodeJS.ErrnoException) => {
    throw new UsageError(`${path} cannot be read: ${cause.code ?? cause.message}`, guardian.name);
  });
  // The server's package is large: only who evaluates loads it.
  const { evaluateCorpus } = await import("@drover/server");
  const score = evaluateCorpus(text);
  if (args.has("json")) context.print(JSON.stringify(score, null, 2));
  else for (const line of formatScore(score, context.width)) context.print(line);
  return EXIT.ok;
}

export const guardian: Verb = {
  name: "guardian",
  summary: "What supervision sees of a run, and what the guardian did.",
  usage: "[id | evaluate <corpus>] [flags]",
  isRemote: true,
  flags: [],
  details:
    "With an id: its condition, its signs of trouble with the events that make them, and what was done. Without: the latest of all. `evaluate` plays recorded runs (one JSON object a line) to the signals and tells precision, recall and delay; it needs no server.",
  async run(context, args) {
    const [sandbox_id, corpus] = takePositionals(guardian, args, 0, 2);
    if (sandbox_id === EVALUATE && corpus !== undefined) return evaluate(context, args, corpus);
    if (corpus !== undefined || sandbox_id === EVALUATE)
      throw new UsageError("name one sandbox, or a corpus to evaluate", guardian.name);
    const client = connect(context, args);
    const signal = context.signal;
    const seen =
      sandbox_id === undefined ? undefined : await client.getSupervision({ params: { sandbox_id } }, { signal });
    const query = { limit: LATEST, ...(sandbox_id === undefined ? {} : { sandbox_id }) };
    const { items } = await client.listInterventions({ query }, { signal });
    if (args.has("json")) context.print(JSON.stringify({ ...seen, interventions: items }, null, 2));
    else {
      const lines = [
        ...(seen === undefined ? [] : formatSeen(seen, context.width)),
        ...formatDone(items, context.width),
      ];
      for (const line of lines) context.print(line);
    }
    return EXIT.ok;
  },
};
