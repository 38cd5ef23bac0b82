/** A list that is read: its place while it is on the way, what went wrong and a way on, why it is empty, or its lines. */
import type { ReactNode } from "react";
import { Problem } from "./problem.tsx";

interface Read<T> {
  readonly isPending: boolean;
  readonly isError: boolean;
  readonly error: unknown;
  readonly data: { readonly items: readonly T[] } | undefined;
  readonly refetch: () => unknown;
}

interface ListingProps<T> {
  readonly read: Read<T>;
  /** As in "the rules": what could not be read. */
  readonly what: string;
  /** Of the place that is kept for it. */
  readonly height: string;
  readonly empty?: ReactNode;
  readonly children: (items: readonly T[]) => ReactNode;
}

export function Listing<T>({ read, what, height, empty, children }: ListingProps<T>) {
  return (
    <>
      {read.isPending && (
        <div className={`skeleton m-4 ${height}`} role="status" aria-label={`Reading ${what.toLowerCase()}`} />
      )}
      {read.isError && (
        <div className="p-4">
          <Problem error={read.error} what={`${what} could not be read`} onRetry={() => void read.refetch()} />
        </div>
      )}
      {read.data?.items.length === 0 && empty}
      {read.data !== undefined && children(read.data.items)}
    </>
  );
}
