/** Which listed sandbox is looked into without leaving the list: by Space, and it follows the focus from then on. */
import { useEffect, useState } from "react";
import { useKeys } from "../app/keys.ts";
import { useEscape } from "./use-escape.ts";

const idOf = (target: EventTarget | null): string | undefined =>
  target instanceof Element ? target.closest<HTMLElement>("[data-sandbox]")?.dataset["sandbox"] : undefined;

export interface PeekState {
  readonly id: string | undefined;
  readonly open: (id: string | undefined) => void;
}

export function usePeek(): PeekState {
  const [id, open] = useState<string>();
  useKeys({
    peek: ({ target }) => {
      // A button and a box to tick have a use for this key themselves.
      if (target instanceof Element && target.closest("button, input") !== null) return false;
      const focused = idOf(target) ?? id;
      if (focused === undefined) return false;
      open(focused === id ? undefined : focused);
      return true;
    },
  });
  useEffect(() => {
    const follow = ({ target }: FocusEvent) => open((old) => (old === undefined ? old : (idOf(target) ?? old)));
    document.addEventListener("focusin", follow);
    return () => document.removeEventListener("focusin", follow);
  }, []);
  useEscape(id !== undefined, () => open(undefined));
  return { id, open };
}
