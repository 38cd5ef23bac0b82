/** What the guardian thinks of this run: its last verdict, and the last thing it did. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { formatAge } from "../data/format.ts";
import { useNow } from "../data/now.ts";
import { Evidence } from "../monitor/evidence.tsx";
import { interventionsQuery, lastAnalysisQuery } from "../monitor/queries.ts";
import { OutcomeWord, RungBadge } from "../monitor/words.tsx";
import { cx } from "../ui/class-names.ts";

export function GuardianPart({ sandboxId }: { readonly sandboxId: string }) {
  const now = useNow();
  const verdict = useQuery(lastAnalysisQuery(sandboxId)).data?.items[0];
  const done = useQuery({
    ...interventionsQuery,
    select: (page) => page.items.find((one) => one.sandbox_id === sandboxId && one.rung !== "note"),
  }).data;
  if (verdict === undefined && done === undefined) return null;
  return (
    <section aria-label="Guardian" data-testid="guardian-part">
      <h2 className="mb-2 text-xs font-semibold text-ink-3">Guardian</h2>
      {verdict !== undefined && (
        <>
          <p className="flex items-baseline gap-2 text-xs">
            <Link
              to="/monitor/guardian/$analysisId"
              params={{ analysisId: verdict.id }}
              className={cx(
                "rounded font-semibold tabular-nums underline underline-offset-2",
                verdict.trajectory_aligned ? "text-live-ink" : "text-fail-ink",
              )}
            >
              {verdict.trajectory_aligned ? "aligned" : "drifting"} {verdict.alignment_score.toFixed(2)}
            </Link>
            <time dateTime={verdict.created_at} className="text-ink-3 tabular-nums">
              {formatAge(now - Date.parse(verdict.created_at))} ago
            </time>
          </p>
          <p className="mt-1 mb-1.5 line-clamp-4 text-xs break-words text-ink-2">{verdict.trajectory_summary}</p>
          <Evidence sandboxId={sandboxId} seqs={verdict.evidence} />
        </>
      )}
      {done !== undefined && (
        <div className="mt-2 flex flex-col gap-1">
          <p className="flex flex-wrap items-center gap-2">
            <RungBadge rung={done.rung} />
            <OutcomeWord outcome={done.outcome} />
          </p>
          <p className="line-clamp-3 text-xs break-words text-ink-2">{done.reason}</p>
        </div>
      )}
    </section>
  );
}
