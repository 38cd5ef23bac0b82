/** Filters of the list that a person gave a name; kept in this browser. */
import { Bookmark, Trash2 } from "lucide-react";
import { useId, useRef, useState } from "react";
import { create } from "zustand";
import { persist } from "zustand/middleware";
import type { SandboxesSearch } from "../search-params.ts";
import { Button } from "../ui/button.tsx";
import { inputLook } from "../ui/field.tsx";
import { notify } from "../ui/notify.ts";

interface SavedFilter {
  readonly name: string;
  readonly search: SandboxesSearch;
}

const useSaved = create<{ readonly filters: readonly SavedFilter[] }>()(
  persist(() => ({ filters: [] as readonly SavedFilter[] }), { name: "drover.filters" }),
);

const isSame = (one: SandboxesSearch, other: SandboxesSearch): boolean =>
  one.state === other.state && one.q === other.q && one.project === other.project && one.agent === other.agent;

interface SavedFiltersProps {
  readonly search: SandboxesSearch;
  readonly isFiltered: boolean;
  readonly onChoose: (search: SandboxesSearch) => void;
}

export function SavedFilters({ search, isFiltered, onChoose }: SavedFiltersProps) {
  const { filters } = useSaved();
  const id = useId();
  const sheet = useRef<HTMLDivElement>(null);
  const close = () => sheet.current?.hidePopover();
  const [name, setName] = useState("");
  const here = filters.find((filter) => isSame(filter.search, search));
  const save = () => {
    const { state, q, project, agent } = search;
    const own = JSON.parse(JSON.stringify({ state, q, project, agent })) as SandboxesSearch;
    useSaved.setState({
      filters: [...filters.filter((filter) => filter.name !== name.trim()), { name: name.trim(), search: own }],
    });
    setName("");
    close();
  };
  return (
    <div className="relative">
      <button
        type="button"
        popoverTarget={id}
        aria-label="Saved filters"
        className="inline-flex h-8 items-center gap-1.5 rounded-full border border-line-strong bg-surface px-3 text-xs text-ink-2 [anchor-name:--saved-filters] hover:bg-hover max-md:h-9"
      >
        <Bookmark size={13} aria-hidden className={here === undefined ? "" : "fill-current"} />
        {here?.name ?? "Saved"}
      </button>
      <div
        ref={sheet}
        id={id}
        popover="auto"
        role="dialog"
        aria-label="Saved filters"
        className="inset-auto top-[anchor(bottom)] right-[anchor(right)] mt-1.5 w-72 max-w-[calc(100vw-2rem)] rounded-xl border border-line bg-raised p-2 text-ink shadow-lift [position-anchor:--saved-filters] open:animate-enter max-md:right-4"
      >
        {filters.length === 0 && (
          <p className="px-2 py-1.5 text-xs text-ink-3 text-pretty">
            A filter that you use often can be kept under a name, in this browser.
          </p>
        )}
        <ul>
          {filters.map((filter) => (
            <li key={filter.name} className="flex items-center">
              <button
                type="button"
                aria-current={filter === here ? "true" : undefined}
                onClick={() => {
                  onChoose(filter.search);
                  close();
                }}
                className="min-w-0 flex-1 truncate rounded-md px-2 py-1.5 text-left text-sm hover:bg-hover aria-[current]:font-semibold"
              >
                {filter.name}
              </button>
              <Button
                look="ghost"
                size="icon"
                aria-label={`Forget ${filter.name}`}
                onClick={() => {
                  useSaved.setState({ filters: filters.filter((one) => one !== filter) });
                  notify.undoable(`${filter.name} is forgotten`, () => useSaved.setState({ filters }));
                }}
              >
                <Trash2 size={13} />
              </Button>
            </li>
          ))}
        </ul>
        {isFiltered && here === undefined && (
          <form
            className="mt-1 flex items-center gap-2 border-t border-line px-1 pt-2"
            onSubmit={(event) => {
              event.preventDefault();
              if (name.trim() !== "") save();
            }}
          >
            <input
              aria-label="Name of this filter"
              placeholder="Name of this filter"
              maxLength={40}
              value={name}
              onChange={(event) => setName(event.target.value)}
              className={`${inputLook} h-8`}
            />
            <Button size="small" type="submit" look="solid" disabled={name.trim() === ""}>
              Save
            </Button>
          </form>
        )}
      </div>
    </div>
  );
}
