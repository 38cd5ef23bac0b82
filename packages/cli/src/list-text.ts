/** One page of things as a table, as JSON, or in words when there are none. */
import { formatTable } from "./table.ts";
import type { Arguments, Context } from "./verb.ts";

interface ListText<Item> {
  readonly header: readonly string[];
  readonly toRow: (item: Item) => readonly string[];
  /** Said when the page is empty. */
  readonly nothing: string;
}

export function printList<Item>(
  context: Context,
  args: Arguments,
  page: { readonly items: readonly Item[]; readonly next_cursor?: string | null },
  { header, toRow, nothing }: ListText<Item>,
): void {
  const { items } = page;
  if (args.has("json")) context.print(JSON.stringify(items, null, 2));
  else if (items.length === 0) context.print(nothing);
  else for (const line of formatTable(header, items.map(toRow), context.width)) context.print(line);
  // A list that ends early must not look like a whole one.
  if (typeof page.next_cursor === "string") context.warn(`There are more than these ${items.length}.`);
}
