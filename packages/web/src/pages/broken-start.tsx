/** A sandbox that was never at work: why, the end of its worker's log where there is one, and the same once more. */
import type { Sandbox } from "@drover/contract";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { RotateCw } from "lucide-react";
import { client } from "../data/client.ts";
import { queryClient } from "../data/queries.ts";
import { useMay } from "../data/use-may.ts";
import { Output } from "../feed/output.tsx";
import { logsQuery } from "../inside/queries.ts";
import { Button } from "../ui/button.tsx";
import { notify } from "../ui/notify.ts";

const LOG_LINES = 12;

export function BrokenStart({ sandbox, reason }: { readonly sandbox: Sandbox; readonly reason: string }) {
  const navigate = useNavigate();
  const mayOperate = useMay("operate");
  // Where nothing ever ran, nothing was written: then it is empty, or refused.
  const log = useQuery(logsQuery(sandbox.id));
  const retry = useMutation({
    // Everything that was asked for is asked for again; of a run that never began nothing can be known.
    mutationFn: () => client.forkSandbox({ params: { sandbox_id: sandbox.id }, body: { fresh: true } }),
    onSuccess: ({ id }) => {
      void queryClient.invalidateQueries({ queryKey: ["sandboxes"] });
      notify.good("The same is tried in a new sandbox");
      void navigate({ to: "/sandboxes/$sandboxId", params: { sandboxId: id } });
    },
    onError: (error) => notify.bad(`Not tried again: ${error.message}`),
  });
  return (
    <>
      <div className="mt-2 flex flex-wrap items-start gap-3">
        <p className="min-w-0 flex-1 basis-64 text-xs break-words text-fail-ink">{reason}</p>
        {mayOperate && (
          <Button size="small" disabled={retry.isPending} className="max-md:h-11" onClick={() => retry.mutate()}>
            <RotateCw size={13} /> Try again
          </Button>
        )}
      </div>
      {log.data !== undefined && log.data.text !== "" && (
        <Output text={log.data.text} label="End of the worker's log" isOpen={false} previewLines={LOG_LINES} isError />
      )}
    </>
  );
}
