/** A run that behaves unlike the others, in one line; and the word that somebody has seen it. */
import type { Anomaly } from "@drover/contract";
import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Check } from "lucide-react";
import { useKeys } from "../app/keys.ts";
import { client } from "../data/client.ts";
import { formatAge, formatDay, plural } from "../data/format.ts";
import { useNow } from "../data/now.ts";
import { queryClient } from "../data/queries.ts";
import { useMay } from "../data/use-may.ts";
import { Button } from "../ui/button.tsx";
import { Kbd } from "../ui/kbd.tsx";
import { notify } from "../ui/notify.ts";
import { ActOnRun } from "./act-on-run.tsx";
import { SandboxName, type Titles } from "./evidence.tsx";
import { SeverityBadge } from "./words.tsx";

export const ANOMALY_PARTS = ["latency", "errors", "resources", "queue"] as const;

export function AnomalyLine({ anomaly, titles }: { readonly anomaly: Anomaly; readonly titles: Titles }) {
  const now = useNow();
  return (
    <article data-anomaly={anomaly.id} className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-3">
      <SeverityBadge severity={anomaly.severity} />
      <div className="min-w-0 flex-1 basis-56">
        <h3 className="truncate text-sm">
          <SandboxName id={anomaly.sandbox_id} titles={titles} />
        </h3>
        <p className="mt-1 text-xs text-ink-3">
          <Link
            to="/monitor/anomalies/$anomalyId"
            params={{ anomalyId: anomaly.id }}
            className="rounded text-live-ink underline underline-offset-2"
          >
            score {anomaly.score.toFixed(2)} in {plural(anomaly.readings, "reading")}
          </Link>
          :{" "}
          {ANOMALY_PARTS.filter((part) => anomaly.parts[part] > 0)
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
      <ActOnRun sandboxId={anomaly.sandbox_id} />
      <Seen anomaly={anomaly} />
    </article>
  );
}

/** The key acknowledges the anomaly that has the focus; on a page of one, that one. */
export function useAcknowledgeKey(page?: string): void {
  useKeys({
    acknowledge: () => {
      const focused = document.activeElement?.closest("[data-anomaly]");
      const chosen = focused ?? (page === undefined ? null : document.querySelector(page));
      chosen?.querySelector<HTMLElement>("[data-seen]")?.click();
    },
  });
}

/** Who has seen it, or the button that says so. */
export function Seen({ anomaly }: { readonly anomaly: Anomaly }) {
  const mayOperate = useMay("operate");
  const acknowledge = useMutation({
    mutationFn: () => client.acknowledgeAnomaly({ params: { anomaly_id: anomaly.id } }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ["monitor"] }),
    onError: (error) => notify.bad(`Not acknowledged: ${error.message}`),
  });
  if (anomaly.acknowledged_at !== null)
    return (
      <span className="text-xs text-ink-3" title={formatDay(anomaly.acknowledged_at)}>
        seen by {anomaly.acknowledged_by ?? "somebody"}
      </span>
    );
  return (
    mayOperate && (
      <Button data-seen size="small" disabled={acknowledge.isPending} onClick={() => acknowledge.mutate()}>
        <Check size={13} /> Seen <Kbd action="acknowledge" />
      </Button>
    )
  );
}
