/** Bounds the part of the heap in which everything begins: Node lets it grow to 128 MiB and gives little of that back, so that a server which
 *  mostly waits would hold it for nothing. */
import { PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

/** Of both halves together; it may double once more before somebody looks. */
const ENOUGH_BYTES = 64 * 1024 * 1024;

const readSize = (): number =>
  getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space")?.space_size ?? 0;

const growBy = (factor: 1 | 2) => setFlagsFromString(`--semi-space-growth-factor=${factor}`);

/** While modules load, which is one long turn in which nobody looks, it stays as small as it begins. */
export const holdYoungGeneration = (): void => growBy(1);

/** From here on it doubles where much survives, until it is large enough. `--max-semi-space-size` would say the same, but only to whoever
 *  starts Node, and that is not us. */
export function boundYoungGeneration(enoughBytes: number = ENOUGH_BYTES): void {
  growBy(2);
  const observer = new PerformanceObserver(() => {
    if (readSize() < enoughBytes) return;
    growBy(1);
    observer.disconnect();
  });
  observer.observe({ entryTypes: ["gc"] });
}
