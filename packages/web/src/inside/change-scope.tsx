/** Which part of a run's changes is shown: all, what is left, what is new to this person, one turn, or between two events. */
import type { EditRow } from "@drover/contract/views";
import { useEffect, useRef } from "react";
import type { RunSearch } from "../search-params.ts";

export type Scope = { readonly [K in "turn" | "scope" | "from" | "to"]?: RunSearch[K] | undefined };

/** Rows take in later events, so that a row may reach over the border: it belongs to both sides. */
export function isInScope(
  row: Pick<EditRow, "turn" | "seq" | "lastSeq">,
  { turn, scope, from, to }: Scope,
  lastLook: number,
): boolean {
  if (scope === "new") return row.lastSeq > lastLook;
  if (scope === "between")
    return row.lastSeq >= (from ?? 0) && row.seq <= Math.max(from ?? 0, to ?? Number.POSITIVE_INFINITY);
  return turn === undefined || (row.turn ?? 0) === turn;
}

interface ScopeChoiceProps {
  readonly chosen: Scope;
  readonly turns: readonly number[];
  /** Whether a checkpoint tells what is left. */
  readonly hasNet: boolean;
  /** Changes since the last look; undefined for who looks for the first time. */
  readonly news: number | undefined;
  readonly head: number;
  readonly onChoose: (scope: Scope) => void;
}

const fieldLook = "h-7 rounded-md border border-line-strong bg-surface px-2 text-xs text-ink max-md:h-9";

export function ScopeChoice({ chosen, turns, hasNet, news, head, onChoose }: ScopeChoiceProps) {
  const value = chosen.scope ?? chosen.turn ?? "";
  return (
    <>
      <label className="flex min-w-0 items-center gap-2 text-xs text-ink-3">
        Show
        <select
          value={value}
          onChange={({ target }) => {
            const { value: next } = target;
            if (next === "between") onChoose({ scope: next, from: 1, to: head });
            else if (next === "net" || next === "new") onChoose({ scope: next });
            else onChoose(next === "" ? {} : { turn: Number(next) });
          }}
          className={`${fieldLook} min-w-0`}
        >
          <option value="">the whole run</option>
          {(news !== undefined || value === "new") && (
            <option value="new">since my last look{news === undefined ? "" : ` (${news})`}</option>
          )}
          {hasNet && <option value="net">what is left of it</option>}
          <option value="between">between two events</option>
          {turns
            .filter((turn) => turn > 0)
            .map((turn) => (
              <option key={turn} value={turn}>
                turn {turn}
              </option>
            ))}
        </select>
      </label>
      {chosen.scope === "between" && <Borders chosen={chosen} head={head} onChoose={onChoose} />}
    </>
  );
}

function Borders({ chosen, head, onChoose }: Pick<ScopeChoiceProps, "chosen" | "head" | "onChoose">) {
  return (
    <div className="flex basis-full items-center gap-2 text-xs text-ink-3">
      <Border
        name="From event"
        value={chosen.from ?? 1}
        head={head}
        onChange={(from) => onChoose({ ...chosen, from })}
      />
      to
      <Border name="To event" value={chosen.to ?? head} head={head} onChange={(to) => onChoose({ ...chosen, to })} />
      <span className="tabular-nums">of {head}</span>
    </div>
  );
}

interface BorderProps {
  readonly name: string;
  readonly value: number;
  readonly head: number;
  readonly onChange: (seq: number) => void;
}

function Border({ name, value, head, onChange }: BorderProps) {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (field.current !== null && field.current !== document.activeElement) field.current.value = String(value);
  }, [value]);
  return (
    <input
      ref={field}
      type="number"
      aria-label={name}
      min={1}
      max={head}
      defaultValue={value}
      onChange={({ target }) => {
        const seq = target.valueAsNumber;
        if (Number.isSafeInteger(seq) && seq > 0) onChange(seq);
      }}
      className={`${fieldLook} w-18 tabular-nums`}
    />
  );
}
