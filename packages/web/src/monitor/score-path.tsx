/** How a score from 0 to 1 went, oldest first, as a small curve. */
interface ScorePathProps {
  readonly scores: readonly number[];
  /** The one that is looked at gets a dot. */
  readonly at?: number;
}

const WIDTH = 74;
const HEIGHT = 18;

export function ScorePath({ scores, at }: ScorePathProps) {
  if (scores.length < 2) return null;
  const step = (WIDTH - 6) / (scores.length - 1);
  const toX = (index: number) => (3 + index * step).toFixed(1);
  const toY = (score: number) => (HEIGHT - 3 - score * (HEIGHT - 6)).toFixed(1);
  const points = scores.map((score, index) => `${toX(index)},${toY(score)}`).join(" ");
  const marked = at === undefined ? undefined : scores[at];
  return (
    <svg
      width={WIDTH}
      height={HEIGHT}
      role="img"
      aria-label={`${scores.length} verdicts, from ${scores[0]?.toFixed(2)} to ${scores.at(-1)?.toFixed(2)}`}
    >
      <polyline points={points} fill="none" strokeWidth={1.5} className="stroke-mind" />
      {at !== undefined && marked !== undefined && (
        <circle cx={toX(at)} cy={toY(marked)} r={2.5} className="fill-mind" />
      )}
    </svg>
  );
}
