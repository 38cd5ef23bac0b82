/** What every state machine must do: each state can be reached, and whatever is not at its end can come to one. */
import { step, type Table } from "@drover/core";
import { describe, expect, test } from "vitest";

export interface Machine<S extends string, E extends string> {
  readonly name: string;
  readonly table: Table<S, E>;
  readonly start: S;
  /** States that nothing leaves, except to themselves or to one another. */
  readonly ends: ReadonlySet<S>;
}

const keys = <K extends string>(record: Readonly<Partial<Record<K, unknown>>>) => Object.keys(record) as K[];

export const listStates = <S extends string, E extends string>(table: Table<S, E>): readonly S[] => keys<S>(table);

export const listTriggers = <S extends string, E extends string>(table: Table<S, E>): readonly E[] => [
  ...new Set(listStates(table).flatMap((state) => keys<E>(table[state]))),
];

/** Every state that some steps lead to from here, this one included. */
function reach<S extends string, E extends string>(table: Table<S, E>, from: S): ReadonlySet<S> {
  const found = new Set<S>([from]);
  // A set hands out what is added while it is walked.
  for (const state of found) for (const on of keys<E>(table[state])) found.add(table[state][on] as S);
  return found;
}

/** The steps that lead to each state on a shortest way. */
export function findWays<S extends string, E extends string>(
  table: Table<S, E>,
  start: S,
): ReadonlyMap<S, readonly E[]> {
  const ways = new Map<S, readonly E[]>([[start, []]]);
  for (const [state, way] of ways) {
    for (const on of keys<E>(table[state])) {
      const next = table[state][on] as S;
      if (!ways.has(next)) ways.set(next, [...way, on]);
    }
  }
  return ways;
}

export function describeMachine<S extends string, E extends string>({ name, table, start, ends }: Machine<S, E>): void {
  describe(`machine: ${name}`, () => {
    const states = listStates(table);

    test("every state is reachable", () => {
      expect([...reach(table, start)].toSorted()).toEqual(states.toSorted());
    });

    test.for(states)("%s can come to an end", (state) => {
      expect([...reach(table, state)].some((one) => ends.has(one))).toBe(true);
    });

    test.for([...ends])("nothing leads out of %s", (end) => {
      expect([...reach(table, end)].filter((state) => !ends.has(state))).toEqual([]);
    });

    test("a step goes where the table says, and nowhere else", () => {
      for (const state of states) {
        for (const on of listTriggers(table)) {
          const to = table[state][on];
          expect(step(table, state, on)).toEqual(to === undefined ? { ok: false } : { ok: true, to });
        }
      }
    });
  });
}
