/** What waits for this person, wherever they are: a bell with its number, and behind it the queue to answer from. */
import { TERMINAL_SANDBOX_STATES } from "@drover/contract";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Bell } from "lucide-react";
import { useEffect, useId, useMemo, useState } from "react";
import { startWatch } from "../data/watch.ts";
import { formatCount } from "../data/format.ts";
import { sandboxesQuery } from "../data/queries.ts";
import { useMay } from "../data/use-may.ts";
import { Button } from "../ui/button.tsx";
import { NeedsYou } from "../wall/needs-you.tsx";
import { useNeeds } from "../wall/needs.ts";

/** `isAlone`: the page that is open follows one run only, so the others are watched from here. */
export function Attention({ isAlone }: { readonly isAlone: boolean }) {
  const id = useId();
  const [isOpen, setOpen] = useState(false);
  const mayOperate = useMay("operate");
  // A list that could not be read is tried again by whoever shows it.
  const list = useInfiniteQuery({ ...sandboxesQuery({}), retryOnMount: false });
  const working = useMemo(
    () => list.data?.pages.flatMap((page) => page.items.filter(({ state }) => !TERMINAL_SANDBOX_STATES.has(state))),
    [list.data],
  );
  const needs = useNeeds(working ?? []);
  useEffect(() => (isAlone ? startWatch() : undefined), [isAlone]);
  const count = formatCount(needs.length);
  return (
    <>
      <Button
        look="ghost"
        size="icon"
        popoverTarget={id}
        aria-label={needs.length === 0 ? "Nothing waits for you" : `Waiting for you: ${count}`}
        data-testid="attention"
        className="relative"
      >
        <Bell size={17} />
        {needs.length > 0 && (
          <span
            aria-hidden
            className="absolute -top-0.5 -right-0.5 grid h-4 min-w-4 place-items-center rounded-full bg-wait-ink px-1 text-[0.625rem] leading-none font-semibold text-paper tabular-nums"
          >
            {count}
          </span>
        )}
      </Button>
      <div
        id={id}
        popover="auto"
        role="dialog"
        aria-label="What waits for you"
        onToggle={(event) => setOpen(event.newState === "open")}
        className="inset-auto top-14 right-3 max-h-[70dvh] w-120 max-w-[calc(100vw-1.5rem)] overflow-y-auto rounded-xl border border-line bg-raised p-4 text-ink shadow-lift open:animate-enter"
      >
        {isOpen && needs.length > 0 && <NeedsYou needs={needs} mayOperate={mayOperate} />}
        {isOpen && needs.length === 0 && (
          <p className="text-sm text-ink-2">
            Nothing waits for you. Questions of agents, runs stopped at their budget, what the guardian wants you to see
            and tickets to approve stand here.
          </p>
        )}
      </div>
    </>
  );
}
