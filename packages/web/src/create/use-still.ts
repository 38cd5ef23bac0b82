/** A value once it has stood still: what is typed is not asked about letter by letter. */
import { useEffect, useState } from "react";

export function useStill<T>(value: T, forMs: number): T {
  const [still, setStill] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setStill(() => value), forMs);
    return () => clearTimeout(timer);
  }, [value, forMs]);
  return still;
}
