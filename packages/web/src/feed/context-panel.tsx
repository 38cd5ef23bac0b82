/** Beside the feed: the agent's plan, the files it changed, what the guardian thinks of it, and the facts of the sandbox. Where there is no
 *  room beside it, a sheet above it. */
import type { Sandbox } from "@drover/contract";
import type { ChangedFile, FeedView, LogEvent } from "@drover/contract/views";
import { X } from "lucide-react";
import { lazy, memo, Suspense, useDeferredValue, useEffect, useRef, type ReactNode } from "react";
import { formatCount, formatDay } from "../data/format.ts";
import { useEscape } from "../pages/use-escape.ts";
import { Button } from "../ui/button.tsx";
import { cx } from "../ui/class-names.ts";
import { TodoList } from "./rows/tools.tsx";

const MARKS: Readonly<Record<string, { readonly letter: string; readonly look: string }>> = {
  created: { letter: "A", look: "text-live-ink" },
  modified: { letter: "M", look: "text-wait-ink" },
  deleted: { letter: "D", look: "text-fail-ink" },
  renamed: { letter: "R", look: "text-done-ink" },
};

const TurnOutline = lazy(() => import("./turn-outline.tsx").then((module) => ({ default: module.TurnOutline })));

const GuardianPart = lazy(() => import("./guardian-part.tsx").then((module) => ({ default: module.GuardianPart })));

interface ContextPanelProps {
  readonly sandbox: Sandbox;
  readonly view: FeedView;
  readonly events: readonly LogEvent[];
  /** sandbox_seq of the selected event. */
  readonly selected: number | undefined;
  readonly onSelect: (seq: number) => void;
  /** As a sheet, where it does not stand there anyway. */
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** From below on a phone, from the side where there is more room. */
const SHEET =
  "flex max-xl:fixed max-xl:z-30 max-xl:animate-enter max-xl:shadow-lift max-md:inset-x-0 max-md:bottom-0 max-md:max-h-[78dvh] max-md:rounded-t-2xl max-md:border md:max-xl:top-14 md:max-xl:right-0 md:max-xl:bottom-0 md:max-xl:w-96 md:max-xl:border-l";

export function ContextPanel({ sandbox, view, events, selected, onSelect, isOpen, onClose }: ContextPanelProps) {
  const panel = useRef<HTMLElement>(null);
  useEffect(() => {
    if (isOpen) panel.current?.focus({ preventScroll: true });
  }, [isOpen]);
  useEscape(isOpen, onClose);
  // In a flood the feed comes first; this list follows when there is time.
  const files = useDeferredValue(view.files);
  const done = view.todo.filter((item) => item.state === "done").length;
  return (
    <aside
      ref={panel}
      aria-label="About this run"
      data-open={isOpen}
      className={cx(
        "shrink-0 flex-col gap-6 overflow-y-auto border-line bg-surface px-5 py-4 xl:flex xl:w-76 xl:border-l",
        isOpen ? SHEET : "hidden",
      )}
      tabIndex={0}
    >
      <div className="-mb-8 flex justify-end xl:hidden">
        <Button look="ghost" size="icon" aria-label="Close" onClick={onClose} className="-mr-2 max-md:size-11">
          <X size={16} />
        </Button>
      </div>
      {sandbox.prompt !== null && (
        <Part title="Asked">
          <p className="line-clamp-6 text-sm break-words whitespace-pre-wrap text-ink-2">{sandbox.prompt}</p>
        </Part>
      )}
      {view.todo.length > 0 && (
        <Part title={`Plan ${done}/${view.todo.length}`}>
          <TodoList items={view.todo} />
        </Part>
      )}
      <Suspense>
        <TurnOutline view={view} events={events} selected={selected} onSelect={onSelect} />
      </Suspense>
      <Files files={files} onSelect={onSelect} />
      <Suspense>
        <GuardianPart sandboxId={sandbox.id} />
      </Suspense>
      {sandbox.resources !== null && (
        <Part title="Limits">
          <dl className="grid grid-cols-[5.5rem_1fr] gap-y-1 text-xs">
            {toLimits(sandbox).map(({ name, amount, enforcer }) => (
              <Limit key={name} name={name} amount={amount} enforcer={enforcer} />
            ))}
          </dl>
        </Part>
      )}
      <Part title="Sandbox">
        <dl className="grid grid-cols-[5.5rem_1fr] gap-y-1 text-xs">
          <Fact name="id" value={sandbox.id} />
          <Fact name="provider" value={sandbox.provider} />
          <Fact name="network" value={sandbox.provider === "external" ? null : sandbox.network} />
          <Fact name="runtime" value={sandbox.runtime} />
          <Fact name="model" value={sandbox.model} />
          <Fact name="branch" value={sandbox.branch} />
          <Fact name="generation" value={String(sandbox.generation)} />
          <Fact name="created" value={formatDay(sandbox.created_at)} />
          <Fact name="ended" value={sandbox.ended_at === null ? null : formatDay(sandbox.ended_at)} />
        </dl>
      </Part>
    </aside>
  );
}

const Files = memo(function Files({
  files,
  onSelect,
}: {
  readonly files: ReadonlyMap<string, ChangedFile>;
  readonly onSelect: (seq: number) => void;
}) {
  if (files.size === 0) return null;
  return (
    <Part title={`Files ${formatCount(files.size)}`}>
      <ul className="-mx-2 flex flex-col">
        {[...files.values()].map((file) => (
          <FileLine key={file.path} file={file} onSelect={onSelect} />
        ))}
      </ul>
    </Part>
  );
});

const FileLine = memo(function FileLine({
  file,
  onSelect,
}: {
  readonly file: ChangedFile;
  readonly onSelect: (seq: number) => void;
}) {
  const mark = MARKS[file.change] ?? { letter: "M", look: "text-wait-ink" };
  return (
    <li>
      <button
        type="button"
        onClick={() => onSelect(file.seq)}
        className="flex min-h-7 w-full items-center gap-2 rounded-md px-2 text-left font-mono text-xs hover:bg-hover"
      >
        <span className={mark.look} title={file.change}>
          {mark.letter}
        </span>
        <span className="min-w-0 flex-1 truncate" dir="rtl">
          <bdi>{file.path}</bdi>
        </span>
        <span className="shrink-0 tabular-nums">
          <span className="text-live-ink">+{file.added}</span> <span className="text-fail-ink">−{file.removed}</span>
        </span>
      </button>
    </li>
  );
});

function Part({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section>
      <h2 className="mb-2 text-xs font-semibold text-ink-3">{title}</h2>
      {children}
    </section>
  );
}

interface LimitFact {
  readonly name: string;
  readonly amount: string | null;
  /** What really enforces it; null while it is not known. */
  readonly enforcer: string | null;
}

const ENFORCED = ["memory", "cpu", "disk", "processes", "network", "isolation"];

function toLimits({ resources, enforced_by: by }: Sandbox): readonly LimitFact[] {
  const amounts: Readonly<Record<string, string | undefined>> = {
    memory: resources === null ? undefined : `${resources.memory_gb.value} GiB`,
    cpu: resources === null ? undefined : `${resources.cpu.value} cores`,
    disk: resources === null ? undefined : `${resources.disk_gb.value} GiB`,
  };
  return ENFORCED.map((name) => ({ name, amount: amounts[name] ?? null, enforcer: by?.[name] ?? null })).filter(
    ({ amount, enforcer }) => amount !== null || enforcer !== null,
  );
}

const LAX: ReadonlySet<string | null> = new Set(["none", "unsafe"]);

function Limit({ name, amount, enforcer }: LimitFact) {
  return (
    <>
      <dt className="text-ink-3">{name}</dt>
      <dd className="flex flex-wrap gap-x-2 font-mono">
        {amount !== null && <span>{amount}</span>}
        {enforcer !== null && (
          <span className={LAX.has(enforcer) ? "font-semibold text-fail-ink" : "text-ink-3"}>
            {enforcer === "none" ? "not enforced" : enforcer}
          </span>
        )}
      </dd>
    </>
  );
}

function Fact({ name, value }: { readonly name: string; readonly value: string | null }) {
  if (value === null) return null;
  return (
    <>
      <dt className="text-ink-3">{name}</dt>
      <dd className="font-mono wrap-anywhere">{value}</dd>
    </>
  );
}
