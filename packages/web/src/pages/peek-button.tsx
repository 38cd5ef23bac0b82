/** Opens a sandbox beside the list, for who has no keyboard at hand. */
import { PanelRight } from "lucide-react";
import { Tooltip } from "../ui/tooltip.tsx";

export function PeekButton({ title, onPeek }: { readonly title: string; readonly onPeek: () => void }) {
  return (
    <Tooltip label="Peek" action="peek">
      <button
        type="button"
        aria-label={`Peek at ${title}`}
        onClick={onPeek}
        className="relative z-10 -my-1 grid size-7 shrink-0 place-items-center rounded-md text-ink-3 hover:bg-hover hover:text-ink max-md:hidden"
      >
        <PanelRight size={15} aria-hidden />
      </button>
    </Tooltip>
  );
}
