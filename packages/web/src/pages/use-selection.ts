/** Which listed sandboxes are selected, by a box, by `x`, or all of them; Escape lets go of them. */
import type { Sandbox } from "@drover/contract";
import { useNavigate } from "@tanstack/react-router";
import { useCallback, useEffect, useRef, useState } from "react";
import { useKeys } from "../app/keys.ts";
import { notify } from "../ui/notify.ts";
import { useEscape } from "./use-escape.ts";

interface SelectionOptions {
  /** As they are shown, one after the other. */
  readonly listed: readonly Sandbox[];
  readonly mayOperate: boolean;
  /** Something above the list that Escape closes first. */
  readonly isCovered: boolean;
}

interface Selection {
  readonly picked: ReadonlySet<string>;
  /** What is selected stays selected while the list changes; what left the list is not acted on. */
  readonly selected: readonly Sandbox[];
  /** With Shift, everything from the one before to this one. */
  readonly toggle: (id: string, isRange?: boolean) => void;
  readonly clear: () => void;
}

const NONE: ReadonlySet<string> = new Set();
const findFocused = () => document.activeElement?.closest<HTMLElement>("[data-sandbox]")?.dataset["sandbox"];

export function useSelection({ listed, mayOperate, isCovered }: SelectionOptions): Selection {
  const navigate = useNavigate();
  const [picked, setPicked] = useState(NONE);
  const last = useRef<string>(undefined);
  const shown = useRef(listed);
  useEffect(() => {
    shown.current = listed;
  });
  const selected = listed.filter(({ id }) => picked.has(id));
  // The same for as long as the page is there, so that a tile is drawn again only when something of it changed.
  const toggle = useCallback((id: string, isRange = false) => {
    const ids: readonly string[] = shown.current.map((one) => one.id);
    const [from, to] = [ids.indexOf(last.current ?? ""), ids.indexOf(id)];
    last.current = id;
    setPicked((old) => {
      const next = new Set(old);
      if (isRange && from !== -1)
        for (const one of ids.slice(Math.min(from, to), Math.max(from, to) + 1)) next.add(one);
      else if (!next.delete(id)) next.add(id);
      return next;
    });
  }, []);
  const clear = () => setPicked(NONE);
  useEscape(selected.length > 0 && !isCovered, clear);
  useKeys({
    selectSandbox: () => {
      const id = findFocused();
      if (mayOperate && id !== undefined) toggle(id);
    },
    selectAll: () =>
      mayOperate && setPicked(selected.length === listed.length ? NONE : new Set(listed.map(({ id }) => id))),
    compareTwo: () => {
      const [a, b] = selected;
      if (selected.length !== 2) notify.bad("Select two sandboxes to compare them.");
      else void navigate({ to: "/compare", search: { a: a?.id ?? "", b: b?.id ?? "" } });
    },
  });
  return { picked, selected, toggle, clear };
}
