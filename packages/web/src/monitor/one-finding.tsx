/** The page of one thing that the monitor found: the way back, and what stands there while it is read, when it is not there and when
 *  reading fails. */
import { ClientError } from "@drover/client";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Empty } from "../ui/empty.tsx";
import { Page } from "../ui/page.tsx";
import { Problem } from "../ui/problem.tsx";

interface Read<T> {
  readonly error: unknown;
  readonly data: T | undefined;
  readonly refetch: () => unknown;
}

interface OneFindingProps<T> {
  readonly read: Read<T>;
  /** As in "no such anomaly". */
  readonly noun: string;
  readonly title: string;
  readonly back: { readonly tab: "anomalies" | "guardian"; readonly label: string };
  readonly children: (found: T) => ReactNode;
}

/** An address that never was one is as good as one that leads nowhere. */
const isNowhere = (error: unknown): boolean =>
  error instanceof ClientError && (error.status === 404 || error.status === 422);

export function OneFinding<T>({ read, noun, title, back: { tab, label }, children }: OneFindingProps<T>) {
  const { error, data } = read;
  return (
    <Page title={title} back={{ to: "/monitor", search: { tab }, label }}>
      {data !== undefined && children(data)}
      {data === undefined && error === null && (
        <div role="status" aria-label={`Reading the ${noun}`} className="flex flex-col gap-6">
          <div className="skeleton h-8 w-96 max-w-full" />
          <div className="skeleton h-72" />
        </div>
      )}
      {data === undefined && error !== null && !isNowhere(error) && (
        <Problem error={error} what={`This ${noun} could not be read`} onRetry={() => void read.refetch()} />
      )}
      {data === undefined && isNowhere(error) && (
        <>
          <h1 className="sr-only">No such {noun}</h1>
          <Empty
            title={`There is no such ${noun}`}
            action={
              <Link
                to="/monitor"
                search={{ tab }}
                className="text-sm font-medium text-live-ink underline underline-offset-2"
              >
                All that are there
              </Link>
            }
          >
            Its run may have been removed, or it belongs to a project that you do not see.
          </Empty>
        </>
      )}
    </Page>
  );
}
