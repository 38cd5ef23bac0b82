/** Whether an open pull request can be merged, what stands in the way, and the buttons that end it. */
import type { MergeMethod, PullRequestDetail } from "@drover/contract";
import { useMutation } from "@tanstack/react-query";
import { CircleCheck, CircleX, GitMerge, LoaderCircle, TriangleAlert } from "lucide-react";
import { useState } from "react";
import { client } from "../data/client.ts";
import { plural } from "../data/format.ts";
import { queryClient } from "../data/queries.ts";
import { Button } from "../ui/button.tsx";
import { cx } from "../ui/class-names.ts";
import { Confirm } from "../ui/confirm.tsx";
import { Choice } from "../ui/field.tsx";
import { notify } from "../ui/notify.ts";
import { Problem } from "../ui/problem.tsx";

const METHODS: readonly { readonly value: MergeMethod; readonly label: string }[] = [
  { value: "squash", label: "Squash" },
  { value: "merge", label: "Merge" },
  { value: "rebase", label: "Rebase" },
];

export function MergeBox({ pull, mayOperate }: { readonly pull: PullRequestDetail; readonly mayOperate: boolean }) {
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
                <CircleCheck size={13} aria-hidden className="shrink-0 text-live-ink" />
              ) : check.state === "pending" ? (
                <LoaderCircle size={13} aria-hidden className="shrink-0 animate-spin text-wait-ink" />
              ) : (
                <CircleX size={13} aria-hidden className="shrink-0 text-fail-ink" />
              )}
              <span className="min-w-0 truncate font-medium" title={check.description || check.context}>
                {check.description || check.context}
              </span>
              {!check.description.endsWith(check.state) && <span className="shrink-0 text-ink-3">{check.state}</span>}
              {check.description !== "" && (
                <code className="shrink-0 font-mono text-2xs text-ink-3 max-sm:hidden">{check.context}</code>
              )}
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
  const open = pull.checks.filter(({ state }) => state !== "success").length;
  if (pull.mergeable === null)
    return (
      <p className="flex items-center gap-2 text-sm text-ink-2" role="status">
        <LoaderCircle size={15} className="animate-spin" aria-hidden /> Whether it can be merged is being found out.
      </p>
    );
  return pull.mergeable ? (
    <p className="flex flex-wrap items-center gap-x-2 text-sm font-medium text-live-ink">
      <CircleCheck size={15} aria-hidden className="shrink-0" /> It can be merged.
      {open > 0 && (
        <span className="font-normal text-wait-ink">
          {plural(open, "check")} {open === 1 ? "has" : "have"} not passed.
        </span>
      )}
    </p>
  ) : (
    <p className="flex items-center gap-2 text-sm font-medium text-fail-ink">
      <TriangleAlert size={15} aria-hidden /> It is in conflict with {pull.base_branch}. Nothing is forced: solve it on
      the branch.
    </p>
  );
}
