/** What one command of the agent printed: searched, wrapped, copied, kept as a file. Lines are coloured as they come into view. */
import type { CommandRow } from "@drover/contract/views";
import { Link } from "@tanstack/react-router";
import { ArrowDownToLine, ChevronDown, ChevronUp, WrapText } from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";
import { VList, type VListHandle } from "virtua";
import { useKeys } from "../app/keys.ts";
import { downloadText } from "../data/download.ts";
import { formatClock, formatCount, plural } from "../data/format.ts";
import { AnsiLine, toOutputLines, toPlainLine } from "../feed/ansi.tsx";
import { CallStatus } from "../feed/rows/tools.tsx";
import { Button } from "../ui/button.tsx";
import { cx } from "../ui/class-names.ts";
import { CopyButton } from "../ui/copy.tsx";
import { SearchField } from "../ui/search-field.tsx";

interface CommandOutputProps {
  readonly sandboxId: string;
  readonly row: CommandRow;
}

export function CommandOutput({ sandboxId, row }: CommandOutputProps) {
  const { call, command } = row;
  const [sought, setSought] = useState("");
  const [at, setAt] = useState(0);
  const [isWrapped, setWrapped] = useState(true);
  const list = useRef<VListHandle>(null);
  const lines = useMemo(() => toOutputLines(call.output ?? ""), [call.output]);
  const plain = useMemo(() => lines.map(toPlainLine), [lines]);
  const found = useMemo(() => {
    const words = sought.toLowerCase();
    return words === "" ? [] : plain.flatMap((line, n) => (line.toLowerCase().includes(words) ? [n] : []));
  }, [plain, sought]);
  const here = found.length === 0 ? undefined : found[at % found.length];
  const go = (step: 1 | -1) => setAt((old) => (found.length === 0 ? 0 : (old + step + found.length) % found.length));
  useEffect(() => {
    if (here !== undefined) list.current?.scrollToIndex(here, { align: "center" });
  }, [here]);
  useKeys({ wrap: () => setWrapped((old) => !old) });
  const text = plain.join("\n");
  return (
    <section aria-label="Command" className="flex min-h-0 flex-1 flex-col gap-2" data-command={row.seq}>
      <div className="flex flex-wrap items-baseline gap-x-3 gap-y-1 text-xs text-ink-3">
        <code className="max-h-24 min-w-0 flex-1 basis-64 overflow-y-auto font-mono break-all whitespace-pre-wrap text-ink">
          <span className="text-live-ink">$ </span>
          {command}
        </code>
        <CallStatus call={call} />
        <Link
          to="/sandboxes/$sandboxId"
          params={{ sandboxId }}
          search={{ e: row.seq }}
          className="rounded text-live-ink underline underline-offset-2"
        >
          {row.turn === null ? "" : `turn ${row.turn}, `}
          <time dateTime={row.at}>{formatClock(row.at)}</time>
        </Link>
      </div>
      <div className="flex flex-wrap items-center gap-2">
        <SearchField
          label="Search in this output"
          placeholder="Search in this output"
          className="w-full sm:w-72"
          value={sought}
          onSearch={(next) => {
            setSought(next);
            setAt(0);
          }}
          note={sought === "" ? "" : found.length === 0 ? "none" : `${(at % found.length) + 1} of ${found.length}`}
        />
        <Button size="icon" aria-label="Line found before" disabled={found.length === 0} onClick={() => go(-1)}>
          <ChevronUp size={15} />
        </Button>
        <Button size="icon" aria-label="Next line found" disabled={found.length === 0} onClick={() => go(1)}>
          <ChevronDown size={15} />
        </Button>
        <span className="flex-1" />
        <Button
          size="icon"
          look="ghost"
          aria-label="Wrap long lines"
          aria-pressed={isWrapped}
          className="aria-pressed:bg-live-soft aria-pressed:text-live-ink"
          onClick={() => setWrapped(!isWrapped)}
        >
          <WrapText size={15} />
        </Button>
        <CopyButton text={text} name="the output" />
        <Button size="small" onClick={() => downloadText(`command-${row.seq}.txt`, `$ ${command}\n${text}\n`)}>
          <ArrowDownToLine size={13} /> Download
        </Button>
      </div>
      {lines.length === 0 ? (
        <p className="grid min-h-0 flex-1 place-items-center text-sm text-ink-3">
          {call.endedAt === null ? "Nothing was printed yet." : "It printed nothing."}
        </p>
      ) : (
        <VList
          ref={list}
          role="group"
          aria-label={`Output of ${command}`}
          tabIndex={0}
          data={lines}
          className="min-h-0 flex-1 rounded-lg border border-line bg-sunken py-2 font-mono text-xs leading-[20px]"
        >
          {(line, n) => (
            <div
              key={n}
              data-found={n === here ? "here" : undefined}
              className={cx(
                "min-h-[1.35rem] px-3",
                isWrapped ? "break-words whitespace-pre-wrap" : "w-max min-w-full whitespace-pre",
                n === here ? "bg-wait-soft" : sought !== "" && found.includes(n) && "bg-live-soft",
              )}
            >
              <AnsiLine line={line} />
            </div>
          )}
        </VList>
      )}
      <p className="text-2xs text-ink-3 tabular-nums">
        {plural(lines.length, "line")}
        {call.outputLength !== null &&
          `. The worker cut this output; ${formatCount(call.outputLength)} characters were printed.`}
      </p>
    </section>
  );
}
