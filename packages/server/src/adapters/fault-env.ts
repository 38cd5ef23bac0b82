/** A fault point from the environment: `DROVER_FAULT=point:n` ends the process when the point is passed for the n-th time. */
import { AppError } from "@drover/contract";
import { FAULT_POINTS, type Fault } from "../ports/fault.ts";

export function parseFault(text: string | undefined, die: () => void): Fault {
  if (text === undefined || text === "") return () => undefined;
  const [name = "", count = "1"] = text.split(":");
  const point = FAULT_POINTS.find((one) => one === name);
  const nth = Number(count);
  if (point === undefined || !Number.isInteger(nth) || nth < 1) {
    throw new AppError("config.invalid", `DROVER_FAULT must be point:n with one of ${FAULT_POINTS.join(", ")}`);
  }
  let passes = 0;
  return (passed) => {
    if (passed !== point) return;
    passes += 1;
    if (passes === nth) die();
  };
}
