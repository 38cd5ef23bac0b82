/** The left part of the top bar belongs to the page that is open. */
import { useState, type ReactNode } from "react";
import { createPortal } from "react-dom";
import { create } from "zustand";

const useSlot = create<{ readonly element: HTMLElement | null }>()(() => ({ element: null }));

export function TopBarSlot() {
  const [attach] = useState(() => (element: HTMLElement | null) => useSlot.setState({ element }));
  return <div ref={attach} className="flex min-w-0 flex-1 items-center gap-3" />;
}

export function TopBar({ children }: { readonly children: ReactNode }) {
  const element = useSlot((slot) => slot.element);
  return element === null ? null : createPortal(children, element);
}
