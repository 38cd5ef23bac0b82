/** A link to a moment by the number that the whole log counts by: becomes the number that this run counts by. */
import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { client } from "../data/client.ts";

/** Evidence names events by `seq`; a run shows them by `sandbox_seq`. */
export function useMoment(sandboxId: string, seq: number | undefined, onFound: (sandboxSeq: number) => void): void {
  const found = useQuery({
    queryKey: ["moment", sandboxId, seq] as const,
    queryFn: ({ signal }) =>
      client.listSandboxEvents(
        { params: { sandbox_id: sandboxId }, query: { after_seq: (seq ?? 1) - 1, order: "asc", limit: 1 } },
        { signal },
      ),
    enabled: seq !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const own = found.data?.events[0]?.sandbox_seq;
  useEffect(() => {
    if (seq !== undefined && typeof own === "number") onFound(own);
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- once for each moment
  }, [seq, own]);
}
