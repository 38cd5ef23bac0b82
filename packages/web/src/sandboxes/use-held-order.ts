/** Rows change where they stand, but none moves under the hand: while somebody is in the list, comings and goings wait for a click. */
import { useMemo, useState } from "react";

interface Listed {
  readonly id: string;
}

interface Held<T> {
  readonly shown: readonly T[];
  /** Rows that came or that no longer belong. */
  readonly waiting: number;
  readonly release: () => void;
  /** For the list: who is in it holds it. */
  readonly hold: {
    readonly onPointerEnter: () => void;
    readonly onPointerLeave: () => void;
    readonly onFocus: () => void;
    readonly onBlur: () => void;
  };
}

/** Rows that follow at the end move nothing. */
const isSameStart = (items: readonly Listed[], start: readonly Listed[]): boolean =>
  start.every(({ id }, at) => items[at]?.id === id);

const countMissing = (items: readonly Listed[], of: ReadonlySet<string>): number =>
  items.filter(({ id }) => !of.has(id)).length;

/** `key` is the filter: another one is another list. */
export function useHeldOrder<T extends Listed>(items: readonly T[], key: string): Held<T> {
  const [held, setHeld] = useState({ key, items });
  const [isPointed, setPointed] = useState(false);
  const [isFocused, setFocused] = useState(false);
  const isHeld = (isPointed || isFocused) && held.key === key && !isSameStart(items, held.items);
  if (!isHeld && (held.items !== items || held.key !== key)) setHeld({ key, items });
  const known = useMemo(() => new Map(items.map((item) => [item.id, item])), [items]);
  return {
    shown: isHeld ? held.items.map((item) => known.get(item.id) ?? item) : items,
    waiting: isHeld
      ? countMissing(held.items, new Set(known.keys())) + countMissing(items, new Set(held.items.map(({ id }) => id)))
      : 0,
    release: () => setHeld({ key, items }),
    hold: {
      onPointerEnter: () => setPointed(true),
      onPointerLeave: () => setPointed(false),
      onFocus: () => setFocused(true),
      onBlur: () => setFocused(false),
    },
  };
}
