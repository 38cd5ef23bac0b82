/** Steps that use a tool: a told one, a real edit, a real command. */
import { AppError } from "@drover/contract";
import { runCommand } from "../command.ts";
import { applyEdit, type EditPlan, hashFile, planEdit } from "./edit-file.ts";
import type { Edit, PlainStep } from "./script.ts";
import {
  closeTool,
  fill,
  fillDeep,
  finish,
  openTool,
  pause,
  type Play,
  type Playing,
  record,
  say,
  type Stage,
  whatStopped,
} from "./stage.ts";

type StepOf<Key extends string> = Extract<PlainStep, Record<Key, unknown>>;

/** Output kept for the result; the chunks carry all of it. */
const TAIL_CHARACTERS = 20_000;
const CHUNKED_CHARACTERS = 4_000_000;

export const playToolUse: Play<StepOf<"tool_use">> = async function* (stage, { tool_use: tool }) {
  const id = openTool(stage, tool.name);
  const use = say(stage, "agent.tool_use", { tool: tool.name, tool_use_id: id, input: fillDeep(stage, tool.input) });
  if (tool.seconds > 0) yield record(stage, [use]);
  await pause(stage, tool.seconds, stage.mailbox.interruption());
  const stopped = tool.seconds > 0 ? whatStopped(stage) : undefined;
  if (stopped === "closed") return "closed";
  const isError = tool.is_error || stopped === "interrupted";
  const text = stopped === "interrupted" ? "Interrupted." : fill(stage, tool.result);
  const result = closeTool(stage, id, tool.name, { text, isError, durationMs: tool.seconds * 1_000 });
  yield finish(stage, tool.seconds > 0 ? [result] : [use, result]);
  return stopped ?? "done";
};

export const playTodo: Play<StepOf<"todo">> = async function* (stage, { todo }) {
  const id = openTool(stage, "TodoWrite");
  const use = say(stage, "agent.tool_use", {
    tool: "TodoWrite",
    tool_use_id: id,
    input: { todos: fillDeep(stage, todo) },
  });
  yield finish(stage, [
    use,
    closeTool(stage, id, "TodoWrite", { text: "Todos updated.", isError: false, durationMs: 0 }),
  ]);
  return "done";
};

function toEditTool(edit: Edit, plan: EditPlan | undefined): { tool: string; input: Record<string, unknown> } {
  if (edit.delete === true) return { tool: "Delete", input: { file_path: edit.path } };
  if (edit.find !== undefined)
    return { tool: "Edit", input: { file_path: edit.path, old_string: edit.find, new_string: edit.replace ?? "" } };
  if (edit.content === undefined) return { tool: "Rename", input: { file_path: edit.path, new_path: edit.rename } };
  return { tool: "Write", input: { file_path: edit.path, content: plan?.after?.text ?? edit.content } };
}

export const playEdit: Play<StepOf<"edit">> = async function* (stage, { edit }) {
  const { order, place } = stage;
  const plan = await planEdit(order.cwd, edit, (text) => fill(stage, text)).catch((error: unknown) => {
    if (error instanceof AppError) return error;
    throw error;
  });
  const { tool, input } = toEditTool(fillDeep(stage, edit), plan instanceof AppError ? undefined : plan);
  const id = openTool(stage, tool);
  const use = say(stage, "agent.tool_use", { tool, tool_use_id: id, input });
  if (plan instanceof AppError) {
    yield finish(stage, [use, closeTool(stage, id, tool, { text: plan.message, isError: true, durationMs: 0 })]);
    return "done";
  }
  const before = await hashFile(order.cwd, plan.from.name);
  const result = closeTool(stage, id, tool, {
    text: plan.changeType === undefined ? "Nothing changed." : `${plan.changeType} ${plan.to.name}`,
    isError: false,
    durationMs: 0,
  });
  // On disk before the file changes: after a death in between, the edit is made and told, once.
  place.open = { id, tool, edit: { before, events: JSON.parse(JSON.stringify([result])) } };
  yield record(stage, [use], { isBarrier: true });
  await applyEdit(plan);
  delete place.open;
  yield finish(stage, [result]);
  return "done";
};

/** A death came between the plan of an edit and its end. */
export async function* redoEdit(stage: Stage, edit: Edit): Playing {
  const { order, place } = stage;
  const open = place.open?.edit;
  if (open === undefined) return "done";
  const isStillToDo = (await hashFile(order.cwd, fill(stage, edit.path))) === open.before;
  if (isStillToDo) await applyEdit(await planEdit(order.cwd, edit, (text) => fill(stage, text), true));
  delete place.open;
  yield finish(stage, open.events);
  return "done";
}

/** Of what a command said last, in the sentence that tells of its failure. */
const FAILURE_CHARACTERS = 1_000;

const toShellWord = (word: string) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

export const playCommand: Play<StepOf<"command">> = async function* (stage, { command }) {
  const { order } = stage;
  const argv = fillDeep(stage, command.argv);
  const id = openTool(stage, "Bash");
  yield record(
    stage,
    [
      say(stage, "agent.tool_use", {
        tool: "Bash",
        tool_use_id: id,
        input: { command: argv.map(toShellWord).join(" "), argv },
      }),
    ],
    { isBarrier: true },
  );
  const started = order.clock.now().getTime();
  const timeout = command.timeout === undefined ? [] : [AbortSignal.timeout(command.timeout * 1_000)];
  const run = runCommand(
    { argv, cwd: order.cwd, env: order.env },
    AbortSignal.any([stage.signal, stage.mailbox.interruption(), ...timeout]),
  );
  let text = "";
  let chunked = 0;
  for (let next = await run.next(); ; next = await run.next()) {
    if (next.done === true) {
      const { code, signal, error } = next.value;
      const stopped = whatStopped(stage);
      if (stopped === "closed") return "closed";
      const why =
        stopped === "interrupted" ? "Interrupted." : timeout[0]?.aborted === true ? "Timed out." : (error ?? "");
      const result = {
        text: [text, why].filter((part) => part !== "").join("\n"),
        isError: code !== 0,
        durationMs: order.clock.now().getTime() - started,
        more: { exit_code: code, signal },
      };
      const closed = closeTool(stage, id, "Bash", result);
      if (stopped === undefined && command.required === true && result.isError) {
        const how = code === null ? "did not end" : `exited with ${code}`;
        const told = `${argv[0] ?? ""} ${how}: ${result.text.slice(-FAILURE_CHARACTERS)}`;
        yield finish(stage, [closed, say(stage, "agent.failed", { error: told.trim() })]);
        return "failed";
      }
      yield finish(stage, [closed]);
      return stopped ?? "done";
    }
    const { stream, text: chunk, offset } = next.value;
    text = (text + chunk).slice(-TAIL_CHARACTERS);
    chunked += chunk.length;
    if (chunked <= CHUNKED_CHARACTERS)
      yield { events: [say(stage, "command.output", { tool_use_id: id, stream, chunk, offset })] };
  }
};

/** A tool was running when the worker died: it is closed as failed, and its step is played again. */
export async function* closeAbandoned(stage: Stage): Playing {
  const { open } = stage.place;
  if (open === undefined) return "done";
  yield record(stage, [
    closeTool(stage, open.id, open.tool, {
      text: "The worker was restarted while this ran. It runs again.",
      isError: true,
      durationMs: 0,
    }),
  ]);
  return "done";
}
