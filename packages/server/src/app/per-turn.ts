/** Remembers what was made of a thing for this turn of the event loop: whoever wants the same within it shares it. No `WeakMap`, whose values
 *  outlive their keys until the whole heap is collected: thousands a second are made here. */
export function perTurn<K extends object, V>(make: (key: K) => V): (key: K) => V {
  let made: Map<K, V> | undefined;
  const forget = () => {
    made = undefined;
  };
  return (key) => {
    if (made === undefined) {
      made = new Map();
      setImmediate(forget);
    }
    const before = made.get(key);
    if (before !== undefined) return before;
    const value = make(key);
    made.set(key, value);
    return value;
  };
}
