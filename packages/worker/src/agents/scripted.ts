/** An agent that plays a script: real events, real edits, real commands, no model. Serves demos, tests and load. */
import { AppError, type InboxMessage, MessageId } from "@drover/contract";
import type { AgentEnd, AgentRuntime, AgentStep, WorkOrder } from "../agent-runtime.ts";
import { DEMO_SCRIPT } from "./demo-script.ts";
import { toInjected, toInterrupted } from "./heard.ts";
import { createMailbox } from "./mailbox.ts";
import { startPlace, toPlace, toRequestId } from "./place.ts";
import { playStep } from "./play-step.ts";
import { closeAbandoned, redoEdit } from "./play-tools.ts";
import { parseScript, type PlainStep, type Script } from "./script.ts";
import { type Outcome, pause, type Playing, record, say, type Stage, whatStopped } from "./stage.ts";
import { unroll } from "./unroll.ts";

const killSelf = () => process.kill(process.pid, "SIGKILL");

function pickAnswer(script: Script, content: string) {
  const text = content.toLowerCase();
  return script.on_message.find(({ when }) => when === undefined || text.includes(when.toLowerCase()))?.steps ?? [];
}

/** Messages that come while an answer is given wait for its end. */
async function* answerNothing(): Playing {
  yield* [];
  return "done";
}

/** Turn numbers, and what is asked for while a turn runs, never go back: the place only moves forward. */
function createPlayer(script: Script, stage: Stage) {
  const { order, place, mailbox, signal } = stage;

  async function* playAnswer(): Playing {
    const { answer } = place;
    if (answer === undefined) return "done";
    for (const { step, number, round } of unroll(pickAnswer(script, answer.content), answer.step)) {
      if (number < answer.step) continue;
      const stopped = whatStopped(stage);
      if (stopped !== undefined) return stopped;
      stage.round = round;
      const outcome = yield* playStep(stage, step, answerNothing);
      if (outcome === "interrupted" || outcome === "closed" || outcome === "failed") return outcome;
    }
    delete place.answer;
    return "done";
  }

  function inject(message: InboxMessage): AgentStep {
    place.answer = { content: message.content, step: 0 };
    return record(stage, [toInjected(place.turn, message)], {
      receipt: { messageId: message.id, status: "seen", turn: place.turn },
    });
  }

  async function* answerMail(isBetweenTurns: boolean): Playing {
    for (let message = mailbox.take(isBetweenTurns); message !== undefined; message = mailbox.take(isBetweenTurns)) {
      yield inject(message);
      const outcome = yield* playAnswer();
      if (outcome !== "done") return outcome;
    }
    return "done";
  }

  /** What a death left open is closed before anything new begins. */
  async function* reopen(): Playing {
    if (place.open === undefined) return "done";
    const steps = place.answer === undefined ? script.steps : pickAnswer(script, place.answer.content);
    const next = unroll(steps, place.answer?.step ?? place.step).next();
    const step: PlainStep | undefined = next.done === true ? undefined : next.value.step;
    stage.round = next.done === true ? 0 : next.value.round;
    return place.open.edit !== undefined && step !== undefined && "edit" in step
      ? yield* redoEdit(stage, step.edit)
      : yield* closeAbandoned(stage);
  }

  async function* playScript(): Playing {
    for (const { step, number, round } of unroll(script.steps, place.step)) {
      const answered = yield* answerMail(false);
      if (answered !== "done") return answered;
      const stopped = whatStopped(stage);
      if (stopped !== undefined) return stopped;
      if (number < place.step) continue;
      if ("turn" in step) place.isSkipping = false;
      if (place.isSkipping) {
        place.step = number + 1;
        continue;
      }
      stage.round = round;
      const outcome = yield* playStep(stage, step, () => answerMail(false));
      if (outcome === "interrupted" || outcome === "closed" || outcome === "failed") return outcome;
      if (outcome !== "listen") continue;
      const heard = yield* answerMail(true);
      if (heard !== "done") return heard;
    }
    return "done";
  }

  async function* work(): Playing {
    yield* reopen();
    const answered = yield* playAnswer();
    if (answered !== "done" || place.isOver) return answered;
    return yield* playScript();
  }

  /** Between turns: nothing to do until somebody speaks, the time is over, or the end. */
  async function* idle(): AsyncGenerator<AgentStep, "closed" | "timeout" | "spoken"> {
    yield record(stage, [say(stage, "agent.waiting", { message: "Waiting for messages." })]);
    for (;;) {
      await pause(stage, order.postCompletionSeconds, mailbox.arrival(true));
      if (signal.aborted) return "closed";
      const interrupt = mailbox.takeInterrupt();
      const message = interrupt === undefined ? mailbox.take(true) : undefined;
      if (interrupt !== undefined) yield stop(interrupt, false);
      else if (message === undefined) return "timeout";
      else {
        place.phase = "working";
        place.turn += 1;
        yield inject(message);
        return "spoken";
      }
    }
  }

  function stop(message: InboxMessage | undefined, wasRunning: boolean): AgentStep {
    delete place.answer;
    return record(
      stage,
      [toInterrupted(place.turn, message, wasRunning)],
      message === undefined ? {} : { receipt: { messageId: message.id, status: "seen", turn: place.turn } },
    );
  }

  function toCompleted(): AgentStep {
    place.isOver = true;
    return record(stage, [
      say(stage, "agent.completed", {
        success: true,
        turns: place.turn,
        stop_reason: "end_turn",
        session_id: place.run,
        cost_usd: 0,
        final_output: place.lastText,
      }),
    ]);
  }

  async function* endWork(outcome: Outcome): AsyncGenerator<AgentStep> {
    place.phase = "idle";
    if (outcome === "interrupted") {
      place.isSkipping = true;
      yield stop(mailbox.takeInterrupt(), true);
    } else if (outcome === "failed") {
      place.isOver = true;
      yield record(stage, []);
    } else yield toCompleted();
  }

  return async function* (): AsyncGenerator<AgentStep, AgentEnd> {
    for (;;) {
      if (place.phase === "working") {
        const outcome = yield* work();
        if (outcome === "closed") return { reason: "closed", turns: place.turn };
        yield* endWork(outcome);
      }
      const outcome = yield* idle();
      if (outcome !== "spoken") return { reason: outcome, turns: place.turn };
    }
  };
}

async function* playOrder(order: WorkOrder, stage: Stage): AsyncGenerator<AgentStep, AgentEnd> {
  try {
    const script = order.script === null ? DEMO_SCRIPT : parseScript(order.script);
    return yield* createPlayer(script, stage)();
  } catch (error) {
    // The port's promise: a stream never throws. An AppError is the script's fault, anything else is ours.
    const detail =
      error instanceof AppError
        ? error.message
        : error instanceof Error
          ? (error.stack ?? error.message)
          : String(error);
    yield { events: [say(stage, "agent.failed", { error: detail })] };
    return { reason: "failed", detail, turns: stage.place.turn };
  }
}

export const createScripted = (die: () => void = killSelf): AgentRuntime => ({
  name: "scripted",
  capabilities: {
    steer: "native",
    interrupt: true,
    hooks: false,
    permission: "requests",
    cost: false,
    resume: "native",
    toolLimits: "noticed",
    subagents: false,
  },
  isWholeInMark: () => true,
  start(order, signal) {
    const mailbox = createMailbox();
    const put = (message: InboxMessage) => {
      if (signal.aborted) return "the agent has ended";
      mailbox.put(message);
      return undefined;
    };
    const place = toPlace(order.mark) ?? startPlace(order.newId());
    return {
      steps: playOrder(order, { order, place, mailbox, signal, die, round: 0 }),
      send: put,
      interrupt: put,
      answerPermission: ({ messageId, requestId, decision }) =>
        requestId === toRequestId(place)
          ? put({
              id: MessageId.parse(messageId),
              content: decision === "allow" ? "yes" : "no",
              message_type: "permission_answer",
              timestamp: order.clock.now().toISOString(),
              delivery: "steer",
            })
          : "nobody waits for this answer",
      getSessionId: () => place.run,
    };
  },
});
