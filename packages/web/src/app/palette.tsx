/** Find anything by a few letters: pages, actions, sandboxes, tickets. A combobox over a list, as assistive technology knows it. */
import { Search } from "lucide-react";
import { Dialog as Radix } from "radix-ui";
import { useDeferredValue, useEffect, useId, useRef, useState, type KeyboardEvent } from "react";
import { cx } from "../ui/class-names.ts";
import { Kbd } from "../ui/kbd.tsx";
import { useFocusReturn } from "../ui/use-focus-return.ts";
import { usePaletteEntries, type Entry } from "./use-palette-entries.ts";

interface PaletteProps {
  readonly onClose: () => void;
  readonly onHelp: () => void;
}

export function Palette({ onClose, onHelp }: PaletteProps) {
  const id = useId();
  const focusReturn = useFocusReturn();
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const groups = usePaletteEntries(useDeferredValue(typed), onHelp);
  const entries = groups.flatMap((group) => group.entries);
  const chosen = entries[Math.min(at, entries.length - 1)];
  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [chosen?.id]);

  const take = (entry: Entry | undefined) => {
    if (entry === undefined) return;
    onClose();
    entry.run();
  };
  const move = (step: number) =>
    setAt((old) => (Math.min(old, entries.length - 1) + step + entries.length) % entries.length);
  const onKeyDown = (event: KeyboardEvent) => {
    const steps: Readonly<Record<string, () => void>> = {
      ArrowDown: () => move(1),
      ArrowUp: () => move(-1),
      Enter: () => take(chosen),
    };
    const step = steps[event.key];
    if (step === undefined || entries.length === 0 || event.nativeEvent.isComposing) return;
    event.preventDefault();
    step();
  };
  return (
    <Radix.Root open onOpenChange={(next) => !next && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-[oklch(0.15_0.02_160/0.45)] backdrop-blur-[2px]" />
        <Radix.Content
          {...focusReturn}
          aria-describedby={undefined}
          className="fixed inset-x-2 top-[8dvh] z-50 mx-auto flex max-h-[70dvh] max-w-xl animate-enter flex-col overflow-hidden rounded-2xl border border-line bg-raised shadow-lift focus:outline-none"
        >
          <Radix.Title className="sr-only">Find anything</Radix.Title>
          <div className="flex items-center gap-3 border-b border-line px-4">
            <Search size={17} aria-hidden className="shrink-0 text-ink-3" />
            <input
              data-focus-first
              role="combobox"
              aria-expanded="true"
              aria-controls={`${id}-list`}
              aria-activedescendant={chosen === undefined ? undefined : `${id}-${chosen.id}`}
              aria-autocomplete="list"
              aria-label="Find anything"
              placeholder="A page, a sandbox, a ticket, something to do"
              spellCheck={false}
              value={typed}
              onChange={(event) => {
                setTyped(event.target.value);
                setAt(0);
              }}
              onKeyDown={onKeyDown}
              className="h-13 min-w-0 flex-1 bg-transparent text-base text-ink placeholder:text-ink-3 focus:outline-none focus-visible:outline-none"
            />
          </div>
          <div
            ref={list}
            id={`${id}-list`}
            role="listbox"
            aria-label="What was found"
            tabIndex={-1}
            className="min-h-0 flex-1 overflow-y-auto p-2"
          >
            {groups.map((group) => (
              <div key={group.title} role="group" aria-label={group.title} className="mb-1.5 last:mb-0">
                <p aria-hidden className="px-2.5 pt-1.5 pb-1 text-2xs font-semibold text-ink-3">
                  {group.title}
                </p>
                {group.entries.map((entry) => (
                  <Option
                    key={entry.id}
                    id={`${id}-${entry.id}`}
                    entry={entry}
                    isChosen={entry === chosen}
                    onPoint={() => setAt(entries.indexOf(entry))}
                    onTake={() => take(entry)}
                  />
                ))}
              </div>
            ))}
          </div>
          <p role="status" className={cx("px-4 text-center text-sm text-ink-3", entries.length === 0 && "pb-6")}>
            {entries.length === 0 && "Nothing is called that. Try fewer letters."}
          </p>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

interface OptionProps {
  readonly id: string;
  readonly entry: Entry;
  readonly isChosen: boolean;
  readonly onPoint: () => void;
  readonly onTake: () => void;
}

function Option({ id, entry, isChosen, onPoint, onTake }: OptionProps) {
  const { icon: Icon } = entry;
  return (
    <div
      id={id}
      role="option"
      tabIndex={-1}
      aria-selected={isChosen}
      onPointerMove={onPoint}
      onClick={onTake}
      onKeyDown={undefined}
      className="flex min-h-9 cursor-pointer items-center gap-3 rounded-lg px-2.5 text-sm aria-selected:bg-live-soft aria-selected:text-live-ink max-md:min-h-11"
    >
      <Icon size={16} aria-hidden className="shrink-0 opacity-70" />
      <span className="min-w-0 flex-1 truncate">{entry.label}</span>
      {entry.note !== undefined && <span className="shrink-0 text-xs opacity-80">{entry.note}</span>}
      {entry.action !== undefined && <Kbd action={entry.action} />}
    </div>
  );
}
