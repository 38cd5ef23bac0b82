/** Whether the repository and the branch are there, asked while they are typed. The server has the last word when the sandbox is made. */
import type { RepositoryCheck, RepositoryStatus } from "@drover/contract";
import { useQuery } from "@tanstack/react-query";
import { CircleAlert, CircleCheck, CircleDashed, LoaderCircle, type LucideIcon } from "lucide-react";
import { client } from "../data/client.ts";
import { plural } from "../data/format.ts";
import { cx } from "../ui/class-names.ts";
import { Button } from "../ui/button.tsx";
import type { Draft } from "./draft.ts";
import { useStill } from "./use-still.ts";

const STILL_MS = 500;
const FRESH_MS = 30_000;

/** What was checked last is kept for a while: going back to it asks nobody. */
export function useRepositoryCheck({ project, repo, branch }: Draft) {
  const typed = JSON.stringify([project, repo.trim(), branch.trim()]);
  const still = useStill(typed, STILL_MS);
  const check = useQuery({
    queryKey: ["repository", still] as const,
    queryFn: ({ signal }) => {
      const [project_id = "", named = "", wanted = ""] = JSON.parse(still) as readonly string[];
      const given = { project_id, repo: named, branch: wanted };
      const body = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== ""));
      return client.checkRepository({ body }, { signal });
    },
    staleTime: FRESH_MS,
    retry: false,
  });
  return { check, isTyping: typed !== still };
}

interface Look {
  readonly icon: LucideIcon;
  readonly look: string;
  readonly say: (check: RepositoryCheck) => string;
}

const WARNS = "text-wait-ink";
const LOOKS: Readonly<Record<RepositoryStatus, Look>> = {
  found: {
    icon: CircleCheck,
    look: "text-live-ink",
    say: ({ branch, branch_count: count }) =>
      `It can be read, and ${branch ?? "its branch"} is there${count > 1 ? `, one of ${plural(count, "branch", "branches")}` : ""}.`,
  },
  no_branch: {
    icon: CircleAlert,
    look: WARNS,
    say: ({ branch }) => `It can be read, and has no branch ${branch ?? "to start from"}.`,
  },
  empty: { icon: CircleAlert, look: WARNS, say: () => "It can be read, and nothing was committed to it yet." },
  fresh: {
    icon: CircleDashed,
    look: "text-ink-3",
    say: () => "The project has no repository yet: it gets an empty one.",
  },
  unreachable: { icon: CircleAlert, look: "text-fail-ink", say: ({ detail }) => `It cannot be read: ${detail ?? ""}` },
  refused: { icon: CircleAlert, look: "text-fail-ink", say: ({ detail }) => `It is not taken: ${detail ?? ""}` },
  unchecked: { icon: CircleDashed, look: "text-ink-3", say: ({ detail }) => `It was not looked at: ${detail ?? ""}.` },
};

interface RepositoryStateProps {
  readonly state: ReturnType<typeof useRepositoryCheck>;
  readonly onBranch: (branch: string) => void;
}

export function RepositoryState({ state: { check, isTyping }, onBranch }: RepositoryStateProps) {
  if (isTyping || check.isFetching)
    return (
      <p role="status" className="flex items-center gap-1.5 text-xs text-ink-3 sm:col-span-2">
        <LoaderCircle size={13} aria-hidden className="shrink-0 animate-spin" /> The repository is looked at…
      </p>
    );
  if (check.isError)
    return (
      <p role="status" className="flex items-center gap-2 text-xs text-ink-3 sm:col-span-2">
        The repository could not be looked at: {check.error.message}
        <Button size="small" look="ghost" onClick={() => void check.refetch()}>
          Try again
        </Button>
      </p>
    );
  if (check.data === undefined) return null;
  const { status, default_branch: first } = check.data;
  const { icon: Icon, look, say } = LOOKS[status];
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1 sm:col-span-2" data-repository={status}>
      <p role="status" className={cx("flex min-w-0 items-start gap-1.5 text-xs", look)}>
        <Icon size={13} aria-hidden className="mt-px shrink-0" />
        <span className="min-w-0 break-words">{say(check.data)}</span>
      </p>
      {status === "no_branch" && first !== null && (
        <Button size="small" onClick={() => onBranch(first)}>
          Take {first}
        </Button>
      )}
    </div>
  );
}
