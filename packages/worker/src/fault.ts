/** Named places where a test may kill the process. Inactive unless `DROVER_FAULT=point:n` is set. */
import { AppError } from "@drover/contract";

export const FAULT_POINTS = [
  "outbox.appended", // on disk, the caller not yet told
  "outbox.compacting", // the new journal is written, the old one still in place
  "link.sent", // the request is out, no reply read
  "link.acked", // the reply is read and recorded
  "inbox.leased", // messages received, nothing recorded
  "inbox.injected", // the agent was given a message, and that is on disk
  "inbox.acked", // the server has taken a receipt
] as const;
export type FaultPoint = (typeof FAULT_POINTS)[number];
export type Fault = (point: FaultPoint) => void;

export const noFault: Fault = () => {};

const isFaultPoint = (name: string): name is FaultPoint => FAULT_POINTS.some((point) => point === name);

/** `point:n` calls `die` when the point is passed for the n-th time. */
export function parseFault(text: string | undefined, die: () => void): Fault {
  if (text === undefined || text === "") return noFault;
  const [name = "", count = "1"] = text.split(":");
  const nth = Number(count);
  if (!isFaultPoint(name) || !Number.isInteger(nth) || nth < 1) {
    throw new AppError("config.invalid", `DROVER_FAULT must be point:n with one of ${FAULT_POINTS.join(", ")}`);
  }
  let passes = 0;
  return (point) => {
    if (point !== name) return;
    passes += 1;
    if (passes === nth) die();
  };
}
