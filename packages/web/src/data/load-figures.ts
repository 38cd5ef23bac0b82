/** How busy a sandbox is, as its last heartbeat told: of one that stands still there is nothing to say. */
import type { Sandbox } from "@drover/contract";
import type { Load } from "@drover/contract/views";
import { formatBytes, formatClock } from "./format.ts";

const GIBIBYTE = 1_024 ** 3;
const NEARLY_FULL = 0.9;

export interface LoadFigure {
  readonly name: "cpu" | "mem";
  readonly value: string;
  readonly title: string;
  readonly isHigh: boolean;
}

export function toLoadFigures(
  { state, resources }: Pick<Sandbox, "state" | "resources">,
  load: Load | undefined,
): readonly LoadFigure[] {
  if (state !== "running" || load === undefined) return [];
  const { cpuPercent, memoryBytes } = load;
  const at = `at ${formatClock(load.at)}`;
  const cores = resources?.cpu.value ?? 1;
  const limit = resources === null ? undefined : resources.memory_gb.value * GIBIBYTE;
  const cpu: readonly LoadFigure[] =
    cpuPercent === null
      ? []
      : [
          {
            name: "cpu",
            value: `${Math.round(cpuPercent / cores)} %`,
            title: `of ${cores === 1 ? "one core" : `${cores} cores`}, ${at}`,
            isHigh: cpuPercent >= NEARLY_FULL * 100 * cores,
          },
        ];
  return [
    ...cpu,
    {
      name: "mem",
      value: formatBytes(memoryBytes),
      title: `${limit === undefined ? "in use" : `of ${formatBytes(limit)}`}, ${at}`,
      isHigh: limit !== undefined && memoryBytes >= NEARLY_FULL * limit,
    },
  ];
}
