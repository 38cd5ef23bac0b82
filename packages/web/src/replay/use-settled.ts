/** A value that follows another at most this often: at once when it has stood still, and its last one always. */
import { useEffect, useRef, useState } from "react";

export function useSettled<T>(value: T, everyMs: number): T {
  const [settled, setSettled] = useState(value);
  const changedAt = useRef(Number.NEGATIVE_INFINITY);
  useEffect(() => {
    const take = () => {
      changedAt.current = performance.now();
      setSettled(() => value);
    };
    const timer = setTimeout(take, Math.max(0, changedAt.current + everyMs - performance.now()));
    return () => clearTimeout(timer);
  }, [value, everyMs]);
  return settled;
}
