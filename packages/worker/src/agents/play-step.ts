/** Plays one step of a script as events. */
import { playCommand, playEdit, playTodo, playToolUse } from "./play-tools.ts";
import { toInjected } from "./heard.ts";
import { advance, toRequestId } from "./place.ts";
import type { Permission, PlainStep } from "./script.ts";
import { fill, fillDeep, finish, listen, pause, type Playing, record, say, type Stage, whatStopped } from "./stage.ts";

const LAST_TEXT_CHARACTERS = 2_000;

async function* tell(stage: Stage, type: string, data: Readonly<Record<string, unknown>>): Playing {
  yield finish(stage, [say(stage, type, data)]);
  return "done";
}

async function* playText(stage: Stage, text: string): Playing {
  const content = fill(stage, text);
  stage.place.lastText = content.slice(0, LAST_TEXT_CHARACTERS);
  return yield* tell(stage, "agent.message", { content, content_length: content.length });
}

/** A message in the middle is answered at once, and the rest of the time is waited afterwards. */
async function* playWait(stage: Stage, seconds: number, onMail: () => Playing): Playing {
  const { clock } = stage.order;
  const until = clock.now().getTime() + seconds * 1_000;
  for (let left = seconds; left > 0; left = (until - clock.now().getTime()) / 1_000) {
    await pause(stage, left, listen(stage, false));
    const stopped = whatStopped(stage);
    if (stopped !== undefined) return stopped;
    const answered = yield* onMail();
    if (answered !== "done") return answered;
  }
  advance(stage.place);
  return "done";
}

async function* playWaitForMessage(stage: Stage, seconds: number, text: string): Playing {
  yield record(stage, [say(stage, "agent.waiting", { message: fill(stage, text) })]);
  await pause(stage, seconds, listen(stage, true));
  const stopped = whatStopped(stage);
  if (stopped !== undefined) return stopped;
  advance(stage.place);
  return "listen";
}

const isYes = (text: string) => /^\s*(y|yes|ok|okay|allow|approve|go)\b/i.test(text);

async function* playPermission(stage: Stage, permission: Permission): Playing {
  const requestId = toRequestId(stage.place);
  const deadline = stage.order.clock.now().getTime() + permission.seconds * 1_000;
  yield record(stage, [
    say(stage, "agent.permission_requested", {
      request_id: requestId,
      tool: permission.tool,
      kind: "tool",
      input: fillDeep(stage, permission.input),
      options: [],
      deadline_at: new Date(deadline).toISOString(),
    }),
  ]);
  await pause(stage, permission.seconds, listen(stage, true));
  const stopped = whatStopped(stage);
  if (stopped !== undefined) return stopped;
  const message = stage.place.answer === undefined ? stage.mailbox.take(true) : undefined;
  const decision = message === undefined ? permission.otherwise : isYes(message.content) ? "allow" : "deny";
  const answered = say(stage, "agent.permission_answered", {
    request_id: requestId,
    decision,
    by: message === undefined ? "deadline" : "person",
  });
  advance(stage.place);
  // Left out in the same record as the refusal: a death in between must not turn it into a yes.
  if (decision === "deny") advance(stage.place);
  if (message === undefined) yield record(stage, [answered]);
  else {
    const injected = toInjected(stage.place.turn, message);
    yield record(stage, message.message_type === "permission_answer" ? [answered] : [injected, answered], {
      receipt: { messageId: message.id, status: "seen", turn: stage.place.turn },
    });
  }
  return "done";
}

async function* playCrash(stage: Stage): Playing {
  // Recorded first: the next life goes on behind it.
  advance(stage.place);
  yield record(stage, [], { isBarrier: true });
  stage.die();
  return "closed";
}

async function* playTurn(stage: Stage): Playing {
  const ended = say(stage, "agent.turn_complete", { num_turns: stage.place.turn });
  stage.place.turn += 1;
  yield finish(stage, [ended]);
  return "listen";
}

/** `onMail` answers messages that arrived, when this step is not itself part of an answer. */
export function playStep(stage: Stage, step: PlainStep, onMail: () => Playing): Playing {
  if ("text" in step) return playText(stage, step.text);
  if ("thinking" in step)
    return tell(stage, "agent.thinking", { content: fill(stage, step.thinking), thinking_type: "scripted" });
  if ("tool_use" in step) return playToolUse(stage, step);
  if ("edit" in step) return playEdit(stage, step);
  if ("command" in step) return playCommand(stage, step);
  if ("todo" in step) return playTodo(stage, step);
  if ("wait" in step) return playWait(stage, step.wait, onMail);
  if ("wait_for_message" in step)
    return playWaitForMessage(stage, step.wait_for_message.seconds, step.wait_for_message.text);
  if ("permission" in step) return playPermission(stage, step.permission);
  if ("error" in step) return tell(stage, "agent.error", { error: fill(stage, step.error) });
  if ("crash" in step) return playCrash(stage);
  if ("turn" in step) return playTurn(stage);
  return (async function* () {
    yield finish(stage, [say(stage, "agent.failed", { error: fill(stage, step.fail) })]);
    return "failed" as const;
  })();
}
