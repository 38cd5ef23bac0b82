/** Runs that behave unlike the others, and what makes them so. */
import type { Anomaly } from "@drover/contract";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Check, TriangleAlert } from "lucide-react";
import { client } from "../data/client.ts";
import { formatAge, formatDay, plural } from "../data/format.ts";
import { useNow } from "../data/now.ts";
import { queryClient } from "../data/queries.ts";
import { useMay } from "../data/use-may.ts";
import { Section } from "../pages/section.tsx";
import { Listing } from "../ui/listing.tsx";
import { Button } from "../ui/button.tsx";
import { cx } from "../ui/class-names.ts";
import { Empty } from "../ui/empty.tsx";
import { notify } from "../ui/notify.ts";
import { SandboxName, useTitles } from "./evidence.tsx";
import { anomaliesQuery } from "./queries.ts";

export function AnomaliesTab() {
  const titles = useTitles();
  const anomalies = useQuery(anomaliesQuery);
  return (
    <Section title="Of the last seven days">
      <Listing
        read={anomalies}
        what="The anomalies"
        height="h-24"
        empty={
          <Empty title="Nobody stands out">
            A run is raised here when it is slower, fails more, uses more or waits longer than the others, several
            readings in a row.
          </Empty>
        }
      >
        {(items) => items.map((anomaly) => <AnomalyLine key={anomaly.id} anomaly={anomaly} titles={titles} />)}
      </Listing>
    </Section>
  );
}

const PARTS = ["latency", "errors", "resources", "queue"] as const;

function AnomalyLine({ anomaly, titles }: { readonly anomaly: Anomaly; readonly titles: ReadonlyMap<string, string> }) {
  const now = useNow();
  const mayOperate = useMay("operate");
  const acknowledge = useMutation({
    mutationFn: () => client.acknowledgeAnomaly({ params: { anomaly_id: anomaly.id } }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ["monitor"] }),
    onError: (error) => notify.bad(`Not acknowledged: ${error.message}`),
  });
  const isCritical = anomaly.severity === "critical";
  return (
    <article data-anomaly={anomaly.id} className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-3">
      <span
        className={cx(
          "inline-flex h-6 items-center gap-1.5 rounded-full px-2 text-xs font-semibold",
          isCritical ? "bg-fail-soft text-fail-ink" : "bg-wait-soft text-wait-ink",
        )}
      >
        <TriangleAlert size={13} aria-hidden /> {anomaly.severity}
      </span>
      <div className="min-w-0 flex-1 basis-56">
        <h3 className="truncate text-sm">
          <SandboxName id={anomaly.sandbox_id} titles={titles} />
        </h3>
        <p className="text-xs text-ink-3">
          score {anomaly.score.toFixed(2)} in {plural(anomaly.readings, "reading")}:{" "}
          {PARTS.filter((part) => anomaly.parts[part] > 0)
            .map((part) => `${part} ${anomaly.parts[part].toFixed(2)}`)
            .join(", ")}
        </p>
      </div>
      <time
        className="text-xs text-ink-3 tabular-nums"
        dateTime={anomaly.created_at}
        title={formatDay(anomaly.created_at)}
      >
        {formatAge(now - Date.parse(anomaly.created_at))}
      </time>
      {anomaly.acknowledged_at !== null ? (
        <span className="text-xs text-ink-3">seen by {anomaly.acknowledged_by ?? "somebody"}</span>
      ) : (
        mayOperate && (
          <Button size="small" disabled={acknowledge.isPending} onClick={() => acknowledge.mutate()}>
            <Check size={13} /> Seen
          </Button>
        )
      )}
    </article>
  );
}
