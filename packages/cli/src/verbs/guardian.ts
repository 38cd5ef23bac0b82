/** drover guardian: what supervision sees of a run, and what it did. */
import { Priority, type GuardianAction, type Intervention, type RunLook, type Supervision } from "@drover/contract";
import { readFile } from "node:fs/promises";
import type { GuardianScore } from "@drover/server";
import { takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { EXIT, UsageError } from "../exit-code.ts";
import { printList } from "../list-text.ts";
import { formatTable } from "../table.ts";
import { cut, toSafeLine } from "../terminal.ts";
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

const MODES = ["shadow", "nudge", "full"] as const;
type SignalScore = GuardianScore["signals"][number];
const toDelay = ({ delaySeconds }: SignalScore) => (delaySeconds === null ? "-" : `${Math.round(delaySeconds)} s`);

function formatScore(
  { sessions, healthy, signals, modes, overall, healthyDisturbed }: GuardianScore,
  width: number,
): readonly string[] {
  const rows = signals.map((one) => [
    one.signal,
    String(one.wanted),
    String(one.raised),
    toFigure(one.precision),
    toFigure(one.recall),
    toDelay(one),
  ]);
  const acted = (one: SignalScore | undefined) =>
    one === undefined ? "-" : `${toFigure(one.precision)} ${toFigure(one.recall)} ${toDelay(one)}`;
  const byMode = signals.map(({ signal }, index) => [signal, ...MODES.map((mode) => acted(modes[mode][index]))]);
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
    "What each mode did about them (precision, recall, delay):",
    ...formatTable(["SIGN", ...MODES.map((mode) => mode.toUpperCase())], byMode, width),
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

const ACTION_TEXT = {
  header: ["ID", "WHEN", "WHAT", "TAKEN BACK", "WHY"],
  toRow: (one: GuardianAction) => [
    one.action_id,
    one.executed_at.slice(0, 19),
    one.action_type.replaceAll("_", " "),
    one.reverted_at === null ? "no" : "yes",
    one.reason,
  ],
  nothing: "Nobody has acted in an emergency.",
} as const;

function requireReason(args: Arguments): string {
  const reason = args.get("reason");
  if (reason === undefined || reason.trim() === "")
    throw new UsageError("--reason says why; it is kept for the record", guardian.name);
  return reason;
}

function tellAction(context: Context, args: Arguments, done: GuardianAction): number {
  if (args.has("json")) context.print(JSON.stringify(done, null, 2));
  else printList(context, args, { items: [done] }, ACTION_TEXT);
  return EXIT.ok;
}

async function actions(context: Context, args: Arguments): Promise<number> {
  takePositionals(guardian, args, 1, 1);
  const page = await connect(context, args).listGuardianActions(
    { query: { limit: LATEST } },
    { signal: context.signal },
  );
  printList(context, args, page, ACTION_TEXT);
  return EXIT.ok;
}

async function cancel(context: Context, args: Arguments): Promise<number> {
  const [, task_id = ""] = takePositionals(guardian, args, 2, 2);
  const body = { task_id, reason: requireReason(args) };
  const client = connect(context, args);
  return tellAction(context, args, await client.emergencyCancelTask({ body }, { signal: context.signal }));
}

async function priority(context: Context, args: Arguments): Promise<number> {
  const [, task_id = "", wanted = ""] = takePositionals(guardian, args, 3, 3);
  const new_priority = Priority.safeParse(wanted.toUpperCase()).data;
  if (new_priority === undefined) throw new UsageError(`${wanted} is no priority`, guardian.name);
  const body = { task_id, new_priority, reason: requireReason(args) };
  const client = connect(context, args);
  return tellAction(context, args, await client.emergencyOverridePriority({ body }, { signal: context.signal }));
}

async function reallocate(context: Context, args: Arguments): Promise<number> {
  const [, from_agent_id = "", to_agent_id = "", amount = ""] = takePositionals(guardian, args, 4, 4);
  const capacity = Number(amount);
  if (!Number.isInteger(capacity) || capacity < 1)
    throw new UsageError(`${amount} is no number of tasks to move`, guardian.name);
  const body = { from_agent_id, to_agent_id, capacity, reason: requireReason(args) };
  const client = connect(context, args);
  return tellAction(context, args, await client.emergencyReallocate({ body }, { signal: context.signal }));
}

async function revert(context: Context, args: Arguments): Promise<number> {
  const [, action_id = ""] = takePositionals(guardian, args, 2, 2);
  const input = { params: { action_id }, body: { reason: requireReason(args) } };
  return tellAction(
    context,
    args,
    await connect(context, args).revertGuardianAction(input, { signal: context.signal }),
  );
}

function formatLook(look: RunLook, width: number): readonly string[] {
  const verdict =
    look.analysis === null
      ? "No judge has a verdict on it."
      : `Judged ${look.analysis.alignment_score.toFixed(2)} by ${look.analysis.model}: ${look.analysis.trajectory_summary}`;
  return [...formatSeen(look, width), cut(toSafeLine(verdict), width)];
}

async function look(context: Context, args: Arguments): Promise<number> {
  const [, sandbox_id = ""] = takePositionals(guardian, args, 2, 2);
  const input = { params: { sandbox_id }, query: { force: "true" as const } };
  const seen = await connect(context, args).analyseNow(input, { signal: context.signal });
  if (args.has("json")) context.print(JSON.stringify(seen, null, 2));
  else for (const line of formatLook(seen, context.width)) context.print(line);
  return EXIT.ok;
}

const ACTIONS: Readonly<Record<string, (context: Context, args: Arguments) => Promise<number>>> = {
  actions,
  cancel,
  priority,
  reallocate,
  revert,
  look,
};

export const guardian: Verb = {
  name: "guardian",
  summary: "What supervision sees of a run, and what the guardian did.",
  usage:
    "[id | look <id> | actions | cancel <task> | priority <task> <p> | reallocate <from> <to> <n> | revert <action> | evaluate <corpus>]",
  isRemote: true,
  flags: [{ name: "reason", value: "text", doc: "For cancel, priority, reallocate and revert: why." }],
  details:
    "With an id: its condition, its signs of trouble with the events that make them, and what was done. Without: the latest of all. `look` looks now and asks the judge. `cancel` fails a task at once, `priority` sets one against all else, `reallocate` lets the project of one agent (or a project) run so many tasks fewer at once and that of another as many more, `revert` takes any of them back; `actions` lists them. `evaluate` plays recorded runs (one JSON object a line) to the signals and tells precision, recall and delay; it needs no server.",
  async run(context, args) {
    const [action = ""] = args.positionals;
    const chosen = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined;
    if (chosen !== undefined) return chosen(context, args);
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
