/** On a phone: the places that have no room in the bar, one tap away. */
import { Link, useMatchRoute } from "@tanstack/react-router";
import { Ellipsis, Search } from "lucide-react";
import { useId, useRef } from "react";
import { cx } from "../ui/class-names.ts";
import { PLACES } from "./places.ts";

const IN_BAR = 4;

export const BAR_PLACES = PLACES.slice(0, IN_BAR);

export const barLook = (isHere: boolean): string =>
  cx(
    "relative flex min-h-12 flex-1 flex-col items-center justify-center gap-0.5 rounded-xl text-2xs font-medium transition-colors",
    isHere ? "bg-live-soft text-live-ink" : "text-ink-3 hover:bg-hover hover:text-ink",
  );

export function MorePlaces({ onFind }: { readonly onFind: () => void }) {
  const id = useId();
  const sheet = useRef<HTMLDivElement>(null);
  const isAt = useMatchRoute();
  const places = PLACES.slice(IN_BAR);
  const isHere = places.some(({ to }) => isAt({ to, fuzzy: true }) !== false);
  const close = () => sheet.current?.hidePopover();
  const look = "flex min-h-12 items-center gap-3 rounded-xl px-3 text-sm font-medium hover:bg-hover";
  return (
    <>
      <button type="button" popoverTarget={id} className={barLook(isHere)}>
        <Ellipsis size={20} aria-hidden />
        More
      </button>
      <div
        ref={sheet}
        id={id}
        popover="auto"
        role="dialog"
        aria-label="More places"
        className="inset-auto right-2 bottom-18 w-56 rounded-2xl border border-line bg-raised p-2 text-ink shadow-lift open:animate-enter"
      >
        <button
          type="button"
          className={cx(look, "w-full")}
          onClick={() => {
            close();
            onFind();
          }}
        >
          <Search size={18} aria-hidden className="text-ink-3" /> Find anything
        </button>
        {places.map(({ to, label, icon: Icon }) => (
          <Link key={to} to={to} onClick={close} className={look}>
            <Icon size={18} aria-hidden className="text-ink-3" /> {label}
          </Link>
        ))}
      </div>
    </>
  );
}
