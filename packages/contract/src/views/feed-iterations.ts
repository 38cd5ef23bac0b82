/** Work in iterations, each of its events as one sentence. */
import type { JsonObject } from "../json.ts";
import { join, type Sentence } from "./feed-sentence.ts";
import { readNumber, readRecord, readText } from "./log-event.ts";

const toDollars = (usd: number | null): string | null => (usd === null || usd === 0 ? null : `$${usd.toFixed(2)}`);

const toNumber = (data: JsonObject): string => String(readNumber(data, "iteration_num") ?? "?");

/** Reasons are words of the wire: `max_cost_reached`. */
const toReason = (data: JsonObject): string => (readText(data, "stop_reason") ?? "unknown").replaceAll("_", " ");

export const ITERATION_SENTENCES: Readonly<Record<string, (data: JsonObject) => Sentence>> = {
  "continuous.started": (data) => {
    const limits = readRecord(data, "limits");
    return {
      title: "Works in iterations",
      detail: join(
        `at most ${readNumber(limits, "max_iterations") ?? "?"}`,
        toDollars(readNumber(limits, "max_cost_usd")),
      ),
      tone: "busy",
    };
  },
  "iteration.started": (data) => ({ title: `Iteration ${toNumber(data)}`, tone: "busy" }),
  "iteration.completion_signal": (data) => ({
    title: "The agent says that it is done",
    detail: `${readNumber(data, "signal_count") ?? "?"} of ${readNumber(data, "threshold") ?? "?"}`,
  }),
  "iteration.validation": (data) =>
    data["passed"] === true
      ? { title: "What was asked for is there", tone: "good" }
      : { title: "Not done yet", detail: readText(data, "feedback"), tone: "warn" },
  "iteration.completed": (data) => ({
    title: `Iteration ${toNumber(data)} is over`,
    detail: toDollars(readNumber(data, "cost_usd")),
  }),
  "continuous.completed": (data) => ({
    title: `Iterations ended: ${toReason(data)}`,
    detail: join(
      `${readNumber(data, "successful_iterations") ?? 0} without an error`,
      toDollars(readNumber(data, "total_cost_usd")),
    ),
    tone: data["validation_passed"] === true ? "good" : "warn",
  }),
};
