/** What a moment of a run needs from the server. */
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { client } from "../data/client.ts";
import { readTextFile } from "../inside/read-text-file.ts";

/** The past does not change. */
const FOR_EVER = { staleTime: Number.POSITIVE_INFINITY, gcTime: 120_000, placeholderData: keepPreviousData } as const;

/** `seq` is that of the whole installation's log, not the number within the run. */
export const momentQuery = (sandboxId: string, seq: number) =>
  queryOptions({
    queryKey: ["moment", sandboxId, seq] as const,
    queryFn: ({ signal }) =>
      client.getMoment({ params: { sandbox_id: sandboxId }, query: { at_seq: seq, events: 0 } }, { signal }),
    ...FOR_EVER,
  });

export const fileAtQuery = (sandboxId: string, path: string, seq: number) =>
  queryOptions({
    queryKey: ["file-at", sandboxId, path, seq] as const,
    queryFn: async ({ signal }) =>
      readTextFile(
        await client.readFile({ params: { sandbox_id: sandboxId }, query: { path, at_seq: seq } }, { signal }),
      ),
    ...FOR_EVER,
  });

export const diffAtQuery = (sandboxId: string, path: string | undefined, seq: number, fromSeq?: number) =>
  queryOptions({
    queryKey: ["diff-at", sandboxId, path, seq, fromSeq] as const,
    queryFn: ({ signal }) =>
      client.getWorkspaceDiff(
        {
          params: { sandbox_id: sandboxId },
          query: {
            at_seq: seq,
            ...(path === undefined ? {} : { path }),
            ...(fromSeq === undefined ? {} : { from_seq: fromSeq }),
          },
        },
        { signal },
      ),
    ...FOR_EVER,
  });

export const sharesQuery = (sandboxId: string) =>
  queryOptions({
    queryKey: ["shares", sandboxId] as const,
    queryFn: ({ signal }) =>
      client.listShares({ params: { sandbox_id: sandboxId }, query: { limit: 100 } }, { signal }),
  });
