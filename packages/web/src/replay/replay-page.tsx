/** Time travel: one run at any of its moments, by address. */
import { VERBS_OF_ROLE } from "@drover/contract";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { ChevronLeft } from "lucide-react";
import { useCallback, useEffect } from "react";
import { TopBar } from "../app/top-bar-slot.tsx";
import { sandboxQuery, whoamiQuery } from "../data/queries.ts";
import { toTitle } from "../data/sandbox-title.ts";
import { parseReplaySearch, type ReplaySearch } from "../search-params.ts";
import { Problem } from "../ui/problem.tsx";
import { Replay } from "./replay.tsx";

export function ReplayPage() {
  const { sandboxId } = useParams({ from: "/inside/sandboxes/$sandboxId/replay" });
  const search = parseReplaySearch(useSearch({ from: "/inside/sandboxes/$sandboxId/replay" }));
  const navigate = useNavigate({ from: "/sandboxes/$sandboxId/replay" });
  const sandbox = useQuery(sandboxQuery(sandboxId));
  const whoami = useQuery(whoamiQuery);
  const change = useCallback(
    (part: { [K in keyof ReplaySearch]?: ReplaySearch[K] | undefined }) =>
      void navigate({ search: (old) => parseReplaySearch({ ...old, ...part }), replace: true }),
    [navigate],
  );
  useEffect(() => {
    document.title = `Replay of ${sandbox.data === undefined ? sandboxId : toTitle(sandbox.data)} · Drover`;
  }, [sandbox.data, sandboxId]);
  return (
    <>
      <TopBar>
        <Link
          to="/sandboxes/$sandboxId"
          params={{ sandboxId }}
          search={search.at === undefined ? {} : { e: search.at }}
          className="-ml-2 inline-flex h-8 shrink-0 items-center gap-1 rounded-lg px-2 text-sm text-ink-2 hover:bg-hover hover:text-ink"
        >
          <ChevronLeft size={16} aria-hidden /> Run
        </Link>
        <h1 className="min-w-0 flex-1 truncate text-sm font-semibold tracking-tight">
          Replay{sandbox.data !== undefined && ` of ${toTitle(sandbox.data)}`}
        </h1>
      </TopBar>
      {sandbox.isError && (
        <div className="grid h-full place-items-center p-6">
          <Problem error={sandbox.error} what="This run could not be opened" onRetry={() => void sandbox.refetch()} />
        </div>
      )}
      {sandbox.data !== undefined && (
        <Replay
          key={sandboxId}
          sandbox={sandbox.data}
          search={search}
          onChange={change}
          mayOperate={whoami.data !== undefined && VERBS_OF_ROLE[whoami.data.role].includes("operate")}
        />
      )}
    </>
  );
}
