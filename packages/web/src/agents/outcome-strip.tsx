/** How the last runs ended, oldest first, as a strip: tall is well, short is failed, half is under way or called off. */
import type { Sandbox } from "@drover/contract";

const SHOWN = 24;

const LOOKS: Readonly<Partial<Record<Sandbox["state"], { readonly height: number; readonly look: string }>>> = {
  completed: { height: 16, look: "fill-done" },
  failed: { height: 6, look: "fill-fail" },
};
const OTHER = { height: 10, look: "fill-line-strong" };

export function OutcomeStrip({ runs, most = SHOWN }: { readonly runs: readonly Sandbox[]; readonly most?: number }) {
  const shown = runs.slice(0, most).toReversed();
  const well = shown.filter(({ state }) => state === "completed").length;
  const failed = shown.filter(({ state }) => state === "failed").length;
  return (
    <svg
      width={shown.length * 5}
      height={16}
      className="shrink-0"
      role="img"
      aria-label={`Of the last ${shown.length} runs ${well} went well and ${failed} failed`}
    >
      {shown.map((run, at) => {
        const { height, look } = LOOKS[run.state] ?? OTHER;
        return <rect key={run.id} x={at * 5} y={16 - height} width={3.5} height={height} rx={1} className={look} />;
      })}
    </svg>
  );
}
