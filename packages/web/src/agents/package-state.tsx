/** How far an agent's package is, and the button for the next step. */
import type { AgentPackage } from "@drover/contract";
import { useMutation } from "@tanstack/react-query";
import { CircleCheck, Download, LoaderCircle, TriangleAlert } from "lucide-react";
import { client } from "../data/client.ts";
import { formatBytes } from "../data/format.ts";
import { queryClient } from "../data/queries.ts";
import { useMay } from "../data/use-may.ts";
import { Button } from "../ui/button.tsx";
import { notify } from "../ui/notify.ts";
import { packagesQuery } from "./queries.ts";

function keepPackage(changed: AgentPackage): void {
  queryClient.setQueryData(packagesQuery.queryKey, (old) =>
    old === undefined ? old : { items: old.items.map((item) => (item.name === changed.name ? changed : item)) },
  );
}

const useInstall = (item: AgentPackage) =>
  useMutation({
    mutationFn: () => client.installAgentPackage({ params: { name: item.name } }),
    onSuccess: keepPackage,
    onError: (error) => notify.bad(`Not installed: ${error.message}`),
  });

function Progress({ percent, label }: { readonly percent: number; readonly label: string }) {
  return (
    <div
      role="progressbar"
      aria-label={label}
      aria-valuenow={percent}
      aria-valuemin={0}
      aria-valuemax={100}
      className="h-1.5 w-full overflow-hidden rounded-full bg-sunken"
    >
      <div className="h-full rounded-full bg-live transition-[width] duration-500" style={{ width: `${percent}%` }} />
    </div>
  );
}

export function PackageState({ item }: { readonly item: AgentPackage }) {
  const mayAdminister = useMay("administer");
  const install = useInstall(item);
  if (item.state === "installed")
    return (
      <span className="inline-flex items-center gap-1.5 text-xs font-medium text-live-ink">
        <CircleCheck size={14} aria-hidden /> installed
      </span>
    );
  if (item.state === "installing")
    return (
      <div className="flex w-40 flex-col gap-1">
        <span className="inline-flex items-center gap-1.5 text-xs text-ink-2 tabular-nums">
          <LoaderCircle size={13} className="animate-spin" aria-hidden /> {item.progress_percent ?? 0}% of{" "}
          {formatBytes(item.size_bytes)}
        </span>
        <Progress percent={item.progress_percent ?? 0} label={`Installing ${item.title}`} />
      </div>
    );
  if (!mayAdminister) return <code className="font-mono text-xs text-ink-3">drover agents install {item.name}</code>;
  return (
    <div className="flex items-center gap-3">
      {item.state === "failed" && (
        <span className="inline-flex items-center gap-1 text-xs text-fail-ink">
          <TriangleAlert size={13} aria-hidden /> failed
        </span>
      )}
      <Button size="small" className="max-md:h-9" disabled={install.isPending} onClick={() => install.mutate()}>
        <Download size={13} /> {item.state === "failed" ? "Try again" : "Install"}
        <span className="font-normal text-ink-3">{formatBytes(item.size_bytes)}</span>
        <span className="sr-only"> {item.title}</span>
      </Button>
    </div>
  );
}

export function RemovePackage({ item }: { readonly item: AgentPackage }) {
  const mayAdminister = useMay("administer");
  const install = useInstall(item);
  const remove = useMutation({
    mutationFn: () => client.removeAgentPackage({ params: { name: item.name } }),
    onSuccess: (changed) => {
      keepPackage(changed);
      notify.undoable(`${item.title} is removed`, () => install.mutate());
    },
    onError: (error) => notify.bad(`Not removed: ${error.message}`),
  });
  if (!mayAdminister || item.state !== "installed") return null;
  return (
    <Button
      size="small"
      look="ghost"
      disabled={remove.isPending}
      onClick={() => remove.mutate()}
      aria-label={`Remove ${item.title}`}
    >
      Remove
    </Button>
  );
}
