/** One pull request: what it changes, whether it can be merged, and the button that does. */
import type { MergeMethod, PullRequestDetail } from "@drover/contract";
import { parseDiff, splitPatch } from "@drover/contract/views";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { CircleCheck, CircleX, GitBranch, GitMerge, LoaderCircle, TriangleAlert } from "lucide-react";
import { useMemo, useState } from "react";
import { VList } from "virtua";
import { client } from "../data/client.ts";
import { formatDay, plural } from "../data/format.ts";
import { queryClient } from "../data/queries.ts";
import { usePatchColours } from "../feed/code.tsx";
import { DiffRow } from "../feed/diff-table.tsx";
import { Markdown } from "../feed/markdown.tsx";
import { Button } from "../ui/button.tsx";
import { cx } from "../ui/class-names.ts";
import { Confirm } from "../ui/confirm.tsx";
import { Choice } from "../ui/field.tsx";
import { notify } from "../ui/notify.ts";
import { Problem } from "../ui/problem.tsx";
import { PullBadge } from "./badges.tsx";
import { Loading, PageFrame, Panel } from "./page-frame.tsx";
import { pullQuery } from "./queries.ts";
import { useMay } from "../data/use-may.ts";

const LOOK_AGAIN_MS = 2_000;

export function PullPage() {
  const { pullId } = useParams({ from: "/inside/tasks/pulls/$pullId" });
  const pull = useQuery({
    ...pullQuery(pullId),
    // The host is still finding out whether it can be merged, and tells nobody when it has.
    refetchInterval: ({ state }) =>
      state.data?.state === "open" && state.data.mergeable === null ? LOOK_AGAIN_MS : false,
  });
  if (pull.isError)
    return (
      <div className="grid h-full place-items-center p-6">
        <Problem error={pull.error} what="This pull request could not be read" onRetry={() => void pull.refetch()} />
      </div>
    );
  return pull.data === undefined ? <Loading /> : <Opened key={pullId} pull={pull.data} />;
}

function Opened({ pull }: { readonly pull: PullRequestDetail }) {
  const mayOperate = useMay("operate");
  return (
    <PageFrame
      title={`#${pull.number} ${pull.title}`}
      badges={
        <>
          <PullBadge state={pull.state} />
          <span className="inline-flex min-w-0 items-center gap-1 font-mono">
            <GitBranch size={13} aria-hidden /> {pull.head_branch} → {pull.base_branch}
          </span>
          {pull.ticket_id !== null && (
            <Link
              to="/tasks/tickets/$ticketId"
              params={{ ticketId: pull.ticket_id }}
              className="font-medium text-live-ink underline underline-offset-2"
            >
              its ticket
            </Link>
          )}
          <span>
            {plural(pull.commits.length, "commit")}, {plural(pull.files.length, "file")}
          </span>
          {pull.merged_at !== null && <span>merged {formatDay(pull.merged_at)}</span>}
        </>
      }
    >
      {pull.body.trim() !== "" && (
        <div className="max-w-3xl text-sm">
          <Markdown text={pull.body} />
        </div>
      )}
      {pull.state === "open" && <MergeBox pull={pull} mayOperate={mayOperate} />}
      <Files pull={pull} />
      <Panel title="Commits">
        <ul className="divide-y divide-line">
          {pull.commits.map((commit) => (
            <li key={commit.id} className="flex flex-wrap items-center gap-x-4 px-4 py-2 text-sm">
              <code className="font-mono text-xs text-ink-3">{commit.id.slice(0, 10)}</code>
              <span className="min-w-0 flex-1 truncate">{commit.subject}</span>
              <span className="text-xs text-ink-3">
                {commit.author}, {formatDay(commit.at)}
              </span>
            </li>
          ))}
          {pull.commits.length === 0 && <li className="px-4 py-3 text-xs text-ink-3">No commit.</li>}
        </ul>
      </Panel>
    </PageFrame>
  );
}

const METHODS: readonly { readonly value: MergeMethod; readonly label: string }[] = [
  { value: "squash", label: "Squash" },
  { value: "merge", label: "Merge" },
  { value: "rebase", label: "Rebase" },
];

function MergeBox({ pull, mayOperate }: { readonly pull: PullRequestDetail; readonly mayOperate: boolean }) {
  const [method, setMethod] = useState<MergeMethod>("squash");
  const [asked, setAsked] = useState<"merge" | "close">();
  const read = () => queryClient.invalidateQueries({ queryKey: ["work"] });
  const merge = useMutation({
    mutationFn: () => client.mergePull({ params: { pull_id: pull.id }, body: { method } }),
    onSuccess: () => {
      notify.good(`#${pull.number} is merged`);
      return read();
    },
    onError: () => read(),
  });
  const close = useMutation({
    mutationFn: () => client.closePull({ params: { pull_id: pull.id } }),
    onSuccess: read,
    onError: (error) => notify.bad(`Not closed: ${error.message}`),
  });
  const failing = pull.checks.filter((check) => check.state === "failure" || check.state === "error");
  return (
    <section
      aria-label="Merge"
      className={cx(
        "flex flex-col gap-3 rounded-xl border bg-surface px-4 py-3",
        pull.mergeable === false ? "border-fail/50" : "border-line-strong",
      )}
    >
      <Verdict pull={pull} />
      {pull.conflicts.length > 0 && (
        <ul aria-label="Conflicts" className="ml-5 list-disc text-xs">
          {pull.conflicts.map((conflict) => (
            <li key={conflict.path} className="font-mono break-all">
              {conflict.path} <span className="font-sans text-ink-3">{conflict.kind}</span>
            </li>
          ))}
        </ul>
      )}
      {pull.checks.length > 0 && (
        <ul aria-label="Checks" className="flex flex-col gap-1 text-xs">
          {pull.checks.map((check) => (
            <li key={check.context} className="flex items-center gap-2">
              {check.state === "success" ? (
                <CircleCheck size={13} aria-hidden className="text-live-ink" />
              ) : check.state === "pending" ? (
                <LoaderCircle size={13} aria-hidden className="animate-spin text-wait-ink" />
              ) : (
                <CircleX size={13} aria-hidden className="text-fail-ink" />
              )}
              <span className="font-medium">{check.context}</span>
              <span className="min-w-0 truncate text-ink-3">
                {check.state}
                {check.description === "" ? "" : `: ${check.description}`}
              </span>
            </li>
          ))}
        </ul>
      )}
      {mayOperate && (
        <div className="flex flex-wrap items-center gap-3">
          <Choice label="Method" value={method} options={METHODS} onChange={setMethod} />
          <Button
            look="live"
            size="small"
            className="max-md:h-9"
            disabled={pull.mergeable !== true || merge.isPending}
            onClick={() => setAsked("merge")}
          >
            <GitMerge size={13} /> Merge
          </Button>
          <Button size="small" className="max-md:h-9" disabled={close.isPending} onClick={() => setAsked("close")}>
            Close
          </Button>
        </div>
      )}
      {merge.isError && <Problem error={merge.error} what="It was not merged" />}
      <Confirm
        isOpen={asked === "merge"}
        onClose={() => setAsked(undefined)}
        onConfirm={() => merge.mutate()}
        title={`Merge #${pull.number} into ${pull.base_branch}?`}
        text={`${plural(pull.commits.length, "commit")} by ${method}; the branch ${pull.head_branch} is deleted afterwards.${failing.length === 0 ? "" : ` ${plural(failing.length, "check")} failed.`}`}
        verb="Merge"
      />
      <Confirm
        isOpen={asked === "close"}
        onClose={() => setAsked(undefined)}
        onConfirm={() => close.mutate()}
        title={`Close #${pull.number} without merging?`}
        text="Its branch stays."
        verb="Close"
      />
    </section>
  );
}

function Verdict({ pull }: { readonly pull: PullRequestDetail }) {
  if (pull.mergeable === null)
    return (
      <p className="flex items-center gap-2 text-sm text-ink-2" role="status">
        <LoaderCircle size={15} className="animate-spin" aria-hidden /> Whether it can be merged is being found out.
      </p>
    );
  return pull.mergeable ? (
    <p className="flex items-center gap-2 text-sm font-medium text-live-ink">
      <CircleCheck size={15} aria-hidden /> It can be merged.
    </p>
  ) : (
    <p className="flex items-center gap-2 text-sm font-medium text-fail-ink">
      <TriangleAlert size={15} aria-hidden /> It is in conflict with {pull.base_branch}. Nothing is forced: solve it on
      the branch.
    </p>
  );
}

const MARKS = { created: "A", modified: "M", deleted: "D", renamed: "R" } as const;

function Files({ pull }: { readonly pull: PullRequestDetail }) {
  const patches = useMemo(() => new Map(splitPatch(pull.diff).map((file) => [file.path, file.patch])), [pull.diff]);
  const [chosen, setChosen] = useState<string>();
  const file = pull.files.find((one) => one.path === chosen) ?? pull.files[0];
  const patch = file === undefined ? undefined : patches.get(file.path);
  const lines = useMemo(() => parseDiff(patch ?? "").filter((line) => line.kind !== "file"), [patch]);
  const colours = usePatchColours(file?.path ?? "", lines);
  if (file === undefined) return null;
  return (
    <Panel title={`Changes ${pull.files.length}`}>
      <div className="flex h-[34rem] max-md:h-auto max-md:flex-col">
        <ul
          aria-label="Changed files"
          tabIndex={0}
          className="w-72 shrink-0 overflow-y-auto border-r border-line py-1 max-md:max-h-48 max-md:w-full max-md:border-r-0 max-md:border-b"
        >
          {pull.files.map((one) => (
            <li key={one.path}>
              <button
                type="button"
                aria-current={one === file ? "true" : undefined}
                onClick={() => setChosen(one.path)}
                className={cx(
                  "flex min-h-7 w-full items-center gap-2 px-3 text-left font-mono text-xs focus-visible:-outline-offset-2 max-md:min-h-11",
                  one === file ? "bg-live-soft" : "hover:bg-hover",
                )}
              >
                <span className="text-ink-3" title={one.change_type}>
                  {MARKS[one.change_type]}
                </span>
                <span className="min-w-0 flex-1 truncate" dir="rtl" title={one.path}>
                  <bdi>{one.path}</bdi>
                </span>
                <span className="shrink-0 tabular-nums">
                  <span className="text-live-ink">+{one.lines_added}</span>{" "}
                  <span className="text-fail-ink">−{one.lines_removed}</span>
                </span>
              </button>
            </li>
          ))}
        </ul>
        <div className="flex min-h-0 min-w-0 flex-1 flex-col max-md:h-[60dvh] max-md:flex-none">
          {lines.length === 0 ? (
            <p className="p-4 text-xs text-ink-3">
              {file.is_binary
                ? "A binary file."
                : pull.is_diff_cut
                  ? "The diff is too long to be shown here."
                  : "No line changed."}
            </p>
          ) : (
            <VList
              key={file.path}
              tabIndex={0}
              role="table"
              aria-label={`Diff of ${file.path}`}
              className="min-h-0 flex-1 font-mono text-xs leading-[20px] max-md:h-[60dvh]!"
              data={lines}
            >
              {(line, at) => <DiffRow key={at} line={line} colours={colours} />}
            </VList>
          )}
        </div>
      </div>
      {pull.is_diff_cut && (
        <p className="border-t border-line px-4 py-1.5 text-xs text-ink-3">The diff is cut; the branch has it whole.</p>
      )}
    </Panel>
  );
}
