/** What the agent asks before it acts: a card while somebody must decide, a quiet line afterwards. */
import type { PermissionAnswer } from "@drover/contract";
import { toCommand, type PermissionRow } from "@drover/contract/views";
import { useMutation } from "@tanstack/react-query";
import { Check, MessageCircleQuestion, ShieldCheck, ShieldQuestion, ShieldX, X } from "lucide-react";
import { useId, useState, type FormEvent } from "react";
import { client } from "../../data/client.ts";
import { formatAge } from "../../data/format.ts";
import { useNow } from "../../data/now.ts";
import { Button } from "../../ui/button.tsx";
import { cx } from "../../ui/class-names.ts";
import { inputLook } from "../../ui/field.tsx";
import { Problem } from "../../ui/problem.tsx";
import { Json } from "../json.tsx";
import { RowFrame, RowToggle } from "../row-frame.tsx";
import { useOpen, useRunContext } from "../run-context.tsx";

export function Permission({ row }: { readonly row: PermissionRow }) {
  return row.answer === null ? <Asked row={row} /> : <Answered row={row} />;
}

/** What it wants to do: a command as one, anything else as the tool's input. */
function Wanted({ row }: { readonly row: PermissionRow }) {
  const command = toCommand(row.input);
  if (command !== "")
    return (
      <pre
        tabIndex={0}
        role="group"
        aria-label="Command"
        className="max-h-60 overflow-auto rounded-lg bg-sunken px-3 py-2 font-mono text-xs break-all whitespace-pre-wrap"
      >
        <span className="text-ink-3">$ </span>
        {command}
      </pre>
    );
  return Object.keys(row.input).length === 0 ? null : <Json value={row.input} label="What it wants to do" />;
}

function useAnswer(row: PermissionRow) {
  const { sandboxId } = useRunContext();
  return useMutation({
    mutationFn: (body: PermissionAnswer) =>
      client.answerPermission({ params: { sandbox_id: sandboxId, request_id: row.requestId ?? "" }, body }),
  });
}

function Asked({ row }: { readonly row: PermissionRow }) {
  const { mayAnswer } = useRunContext();
  const answer = useAnswer(row);
  const isAnswerable = mayAnswer && row.requestId !== null;
  return (
    <RowFrame row={row} icon={row.isQuestion ? MessageCircleQuestion : ShieldQuestion} tone="text-wait-ink">
      <section
        aria-label={row.isQuestion ? "Question of the agent" : "Permission request"}
        data-permission={row.requestId ?? ""}
        className="flex max-w-[46rem] flex-col gap-2.5 rounded-xl rounded-tl-sm border border-wait bg-surface px-3.5 py-3 shadow-card"
      >
        <div className="flex flex-wrap items-center gap-x-2">
          <p className="text-sm font-semibold text-wait-ink">
            {row.isQuestion ? "The agent asks you" : "The agent asks for permission"}
          </p>
          {row.tool !== null && !row.isQuestion && (
            <code className="min-w-0 font-mono text-xs break-all">{row.tool}</code>
          )}
          <span className="flex-1" />
          {row.deadlineAt !== null && <Deadline at={row.deadlineAt} />}
        </div>
        {row.detail !== "" && <p className="text-sm break-words whitespace-pre-wrap">{row.detail}</p>}
        {!row.isQuestion && <Wanted row={row} />}
        {!isAnswerable ? (
          <p className="text-xs text-ink-3">
            {mayAnswer
              ? "It gave no id to answer to."
              : "You cannot answer: your role may not, or nobody is left to hear it."}
          </p>
        ) : row.isQuestion ? (
          <Reply row={row} isBusy={answer.isPending} onAnswer={answer.mutate} />
        ) : (
          <Decide row={row} isBusy={answer.isPending} onAnswer={answer.mutate} />
        )}
        {answer.isError && <Problem error={answer.error} what="The answer was not taken" />}
      </section>
    </RowFrame>
  );
}

function Deadline({ at }: { readonly at: string }) {
  const now = useNow();
  const leftMs = Date.parse(at) - now;
  return (
    <span className="text-xs text-ink-3 tabular-nums">
      {leftMs > 0 ? `refused in ${formatAge(leftMs)} unless you answer` : "the deadline has passed"}
    </span>
  );
}

interface AnswerProps {
  readonly row: PermissionRow;
  readonly isBusy: boolean;
  readonly onAnswer: (answer: PermissionAnswer) => void;
}

const YES_NO = [
  { id: undefined, name: "Allow", decision: "allow" },
  { id: undefined, name: "Refuse", decision: "deny" },
] as const;

function Decide({ row, isBusy, onAnswer }: AnswerProps) {
  const [note, setNote] = useState("");
  const offered = row.options.map((option) => ({
    id: option.id,
    name: option.name,
    decision: option.kind.startsWith("allow") ? ("allow" as const) : ("deny" as const),
  }));
  const choices = offered.length > 0 ? offered : YES_NO;
  const hint = note.trim() === "" ? {} : { note: note.trim() };
  return (
    <>
      <input
        aria-label="A word to the agent"
        placeholder="A word to the agent, if you like"
        className={cx(inputLook, "h-8 text-xs!")}
        value={note}
        maxLength={2_000}
        onChange={(event) => setNote(event.target.value)}
      />
      <div className="flex flex-wrap gap-2">
        {choices.map(({ id, name, decision }) => (
          <Button
            key={id ?? decision}
            size="small"
            look={decision === "allow" ? "live" : "plain"}
            className="max-w-full max-md:h-10"
            disabled={isBusy}
            onClick={() => onAnswer({ decision, ...(id === undefined ? {} : { option_id: id }), ...hint })}
          >
            {decision === "allow" ? <Check size={13} aria-hidden /> : <X size={13} aria-hidden />}
            <span className="truncate">{name}</span>
          </Button>
        ))}
      </div>
    </>
  );
}

function Reply({ row, isBusy, onAnswer }: AnswerProps) {
  const [text, setText] = useState("");
  const id = useId();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim() !== "") onAnswer({ decision: "allow", text: text.trim() });
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-2">
      {row.choices.length > 0 && (
        <div className="flex flex-wrap gap-1.5" role="group" aria-label="Proposed answers">
          {row.choices.map((choice, at) => (
            <Button
              key={at}
              size="small"
              className="max-w-full max-md:h-10"
              disabled={isBusy}
              onClick={() => onAnswer({ decision: "allow", text: choice })}
            >
              <span className="truncate">{choice}</span>
            </Button>
          ))}
        </div>
      )}
      <label htmlFor={id} className="sr-only">
        Your answer
      </label>
      <textarea
        id={id}
        rows={2}
        placeholder="Your answer"
        className={cx(inputLook, "resize-y py-1.5")}
        value={text}
        maxLength={8_000}
        onChange={(event) => setText(event.target.value)}
      />
      <div className="flex gap-2">
        <Button type="submit" size="small" look="live" className="max-md:h-10" disabled={isBusy || text.trim() === ""}>
          Answer
        </Button>
        <Button size="small" className="max-md:h-10" disabled={isBusy} onClick={() => onAnswer({ decision: "deny" })}>
          Decline to answer
        </Button>
      </div>
    </form>
  );
}

const BY: Readonly<Record<string, string>> = {
  policy: "by the policy",
  person: "by a person",
  deadline: "because nobody answered in time",
};

function Answered({ row }: { readonly row: PermissionRow }) {
  const [isOpen, toggle] = useOpen(row.seq);
  const isAllowed = row.answer === "allow";
  const verb = row.isQuestion ? (isAllowed ? "Answered" : "Not answered") : isAllowed ? "Allowed" : "Refused";
  return (
    <RowFrame
      row={row}
      icon={isAllowed ? ShieldCheck : ShieldX}
      isQuiet
      tone={isAllowed ? "text-live-ink" : "text-fail-ink"}
    >
      <div data-permission={row.requestId ?? ""} data-answer={row.answer}>
        <RowToggle isOpen={isOpen} onToggle={toggle}>
          <span className="shrink-0 font-medium">
            {row.answer === "allow" || row.answer === "deny" ? verb : row.answer}
          </span>
          {row.tool !== null && !row.isQuestion && <code className="shrink-0 font-mono text-xs">{row.tool}</code>}
          <span className="min-w-0 truncate text-ink-3">
            {[toCommand(row.input) || row.detail, row.note].filter(Boolean).join(" · ")}
          </span>
          <span className="ml-auto shrink-0 text-xs text-ink-3">
            {row.by === null ? "" : (BY[row.by] ?? "")}
            {!row.isTold && ", on its way"}
          </span>
        </RowToggle>
        {isOpen && (
          <div className="mt-1 flex flex-col gap-1.5">
            {row.detail !== "" && <p className="text-sm text-ink-2 whitespace-pre-wrap">{row.detail}</p>}
            <Wanted row={row} />
            {row.note !== null && <p className="text-sm break-words whitespace-pre-wrap">{row.note}</p>}
          </div>
        )}
      </div>
    </RowFrame>
  );
}
