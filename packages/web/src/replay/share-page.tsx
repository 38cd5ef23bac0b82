/** One run for whoever has a link to it: the same replay, nothing to steer, and nothing beside it. */
import { ClientError } from "@drover/client";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { Eye } from "lucide-react";
import { useCallback, useEffect } from "react";
import { watchToken } from "../data/client.ts";
import { sandboxQuery } from "../data/queries.ts";
import { toTitle } from "../data/sandbox-title.ts";
import { parseReplaySearch, type ReplaySearch } from "../search-params.ts";
import { Mark } from "../ui/mark.tsx";
import { Problem } from "../ui/problem.tsx";
import { Replay } from "./replay.tsx";

const isEnded = (error: unknown) =>
  error instanceof ClientError && ["auth.required", "sandbox.not_found", "auth.forbidden"].includes(error.code);

export function SharePage() {
  const { sandboxId } = useParams({ from: "/s/$sandboxId" });
  const search = parseReplaySearch(useSearch({ from: "/s/$sandboxId" }));
  const navigate = useNavigate({ from: "/s/$sandboxId" });
  const sandbox = useQuery({ ...sandboxQuery(sandboxId), enabled: watchToken !== undefined, refetchInterval: 10_000 });
  const change = useCallback(
    (part: { [K in keyof ReplaySearch]?: ReplaySearch[K] | undefined }) =>
      // The secret stays where it is: behind the #, which browsers send to nobody.
      void navigate({ search: (old) => parseReplaySearch({ ...old, ...part }), hash: true, replace: true }),
    [navigate],
  );
  useEffect(() => {
    document.title = `${sandbox.data === undefined ? "A shared run" : toTitle(sandbox.data)} · Drover`;
  }, [sandbox.data]);
  return (
    <div className="flex h-full flex-col">
      <header className="flex h-14 shrink-0 items-center gap-3 border-b border-line bg-surface px-4 md:px-6">
        <Mark size={26} />
        <h1 className="min-w-0 flex-1 truncate text-sm font-semibold tracking-tight">
          {sandbox.data === undefined ? "A shared run" : toTitle(sandbox.data)}
        </h1>
        <span className="inline-flex shrink-0 items-center gap-1.5 rounded-full bg-sunken px-2.5 py-1 text-xs font-medium text-ink-2">
          <Eye size={13} aria-hidden /> Read only
        </span>
      </header>
      <main id="content" className="min-h-0 flex-1">
        {watchToken === undefined || isEnded(sandbox.error) ? (
          <Ended />
        ) : sandbox.isError && sandbox.data === undefined ? (
          <div className="grid h-full place-items-center p-6">
            <Problem error={sandbox.error} what="This run could not be opened" onRetry={() => void sandbox.refetch()} />
          </div>
        ) : (
          sandbox.data !== undefined && (
            <Replay sandbox={sandbox.data} search={search} onChange={change} mayOperate={false} />
          )
        )}
      </main>
    </div>
  );
}

function Ended() {
  return (
    <div className="grid h-full place-items-center p-6 text-center">
      <div className="max-w-sm">
        <p className="text-lg font-semibold tracking-tight">This link shows nothing any more</p>
        <p className="mt-1 text-sm text-ink-2 text-pretty">
          It ran out, was revoked, or was copied without its end. Ask whoever gave it to you for a new one.
        </p>
      </div>
    </div>
  );
}
