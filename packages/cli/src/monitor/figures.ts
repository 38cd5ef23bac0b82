/** The monitor's figures over time as small charts of text. */
import { METRICS, type MetricName, type Metrics } from "@drover/contract";
import { formatTable } from "../table.ts";

const BARS = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"] as const;
const GAP = "·";

/** One character a point; what was not measured is a dot, not a zero. */
function toChart(values: readonly (number | null)[]): string {
  const known = values.filter((value) => value !== null);
  const [low, high] = [Math.min(0, ...known), Math.max(...known)];
  const span = high - low;
  return values
    .map((value) => {
      if (value === null) return GAP;
      const share = span === 0 ? 0 : (value - low) / span;
      return BARS[Math.min(BARS.length - 1, Math.floor(share * BARS.length))] ?? GAP;
    })
    .join("");
}

const toNumber = (value: number): string =>
  Number.isInteger(value) ? String(value) : value.toFixed(Math.abs(value) < 10 ? 2 : 1);

export const formatMetrics = ({ series }: Metrics, width: number): readonly string[] =>
  formatTable(
    ["FIGURE", "LAST", "MOST", "UNIT", "OVER TIME"],
    series.map(({ metric, unit, points }) => {
      const values = points.map(({ value }) => value);
      const known = values.filter((value) => value !== null);
      const last = known.at(-1);
      return [
        metric,
        last === undefined ? "-" : toNumber(last),
        known.length === 0 ? "-" : toNumber(Math.max(...known)),
        unit,
        known.length === 0 ? "not measured" : toChart(values),
      ];
    }),
    width,
  );

export const METRIC_NAMES = Object.keys(METRICS) as readonly MetricName[];
