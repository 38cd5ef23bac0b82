/** What callbacks give, as something to iterate over. */

export interface EventQueue<Item> extends AsyncIterable<Item> {
  push(item: Item): void;
  /** After the items that are there: the end, or an error. Only the first call counts. */
  end(error?: Error): void;
}

export function createEventQueue<Item>(): EventQueue<Item> {
  const items: Item[] = [];
  let ending: { readonly error: Error | undefined } | undefined;
  let bell = Promise.withResolvers<void>();
  const ring = () => {
    bell.resolve();
    bell = Promise.withResolvers<void>();
  };
  return {
    push: (item) => {
      items.push(item);
      ring();
    },
    end: (error) => {
      ending ??= { error };
      ring();
    },
    async *[Symbol.asyncIterator]() {
      for (;;) {
        const { promise } = bell;
        yield* items.splice(0);
        if (items.length > 0) continue;
        if (ending === undefined) await promise;
        else if (ending.error === undefined) return;
        else throw ending.error;
      }
    },
  };
}
