/** State machines as tables: a transition is a cell, not an if. */
export type Table<S extends string, E extends string> = { readonly [From in S]: { readonly [On in E]?: S } };

export type Step<S extends string> = { readonly ok: true; readonly to: S } | { readonly ok: false };

export function step<S extends string, E extends string>(table: Table<S, E>, from: S, on: E): Step<S> {
  const to = table[from][on];
  return to === undefined ? { ok: false } : { ok: true, to };
}
