/** What is read from the server and kept: keys and readers in one place. */
import { ClientError } from "@drover/client";
import type { Sandbox, SandboxState } from "@drover/contract";
import { infiniteQueryOptions, QueryCache, QueryClient, queryOptions, type InfiniteData } from "@tanstack/react-query";
import { client } from "./client.ts";
import { session } from "./session.ts";

export const queryClient = new QueryClient({
  queryCache: new QueryCache({
    onError: (error) => {
      if (error instanceof ClientError && error.code === "auth.required") session.onLost();
    },
  }),
  // The client itself repeats what may pass; what reaches the page is final.
  defaultOptions: { queries: { retry: false, staleTime: 10_000 }, mutations: { retry: false } },
});

export interface SandboxFilter {
  readonly status?: readonly SandboxState[] | undefined;
  readonly q?: string | undefined;
  readonly project?: string | undefined;
  readonly agent?: string | undefined;
}

const PAGE = 100;
type SandboxPage = Awaited<ReturnType<typeof client.listSandboxes>>;
export type SandboxPages = InfiniteData<SandboxPage>;

/** An answer that was on its way while the stream went on is older than what the page knows. */
function pickNewer(kept: Sandbox | undefined, read: Sandbox): Sandbox {
  if (kept === undefined || kept.last_seq <= read.last_seq) return read;
  // What no event of its log tells is known by reading only.
  const { health, pull_request: pull } = read;
  return { ...kept, health, ...(pull === undefined ? {} : { pull_request: pull }) };
}

function mergePages(kept: unknown, read: unknown): unknown {
  const [before, after] = [kept as SandboxPages | undefined, read as SandboxPages];
  const known = new Map(before?.pages.flatMap((page) => page.items.map((item) => [item.id as string, item] as const)));
  return {
    ...after,
    pages: after.pages.map((page) => ({
      ...page,
      items: page.items.map((item) => pickNewer(known.get(item.id), item)),
    })),
  };
}

export const sandboxesQuery = (filter: SandboxFilter) =>
  infiniteQueryOptions({
    queryKey: ["sandboxes", filter] as const,
    queryFn: ({ pageParam, signal }) =>
      client.listSandboxes(
        {
          query: {
            limit: PAGE,
            ...(pageParam === null ? {} : { cursor: pageParam }),
            ...(filter.status === undefined ? {} : { status: [...filter.status] }),
            ...(filter.q === undefined ? {} : { q: filter.q }),
            ...(filter.project === undefined ? {} : { project_id: filter.project }),
            ...(filter.agent === undefined ? {} : { runtime: filter.agent }),
          },
        },
        { signal },
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
    structuralSharing: mergePages,
  });

/** Read again when a sandbox changes its state. */
export const sandboxCountsQuery = ({ q, project, agent }: SandboxFilter) =>
  queryOptions({
    queryKey: ["sandbox-counts", q ?? "", project ?? "", agent ?? ""] as const,
    queryFn: ({ signal }) =>
      client.countSandboxes(
        {
          query: {
            ...(q === undefined ? {} : { q }),
            ...(project === undefined ? {} : { project_id: project }),
            ...(agent === undefined ? {} : { runtime: agent }),
          },
        },
        { signal },
      ),
    placeholderData: (before) => before,
  });

export const sandboxQuery = (sandboxId: string) =>
  queryOptions({
    queryKey: ["sandbox", sandboxId] as const,
    queryFn: ({ signal }) => client.getSandbox({ params: { sandbox_id: sandboxId } }, { signal }),
    structuralSharing: (kept, read) => pickNewer(kept as Sandbox | undefined, read as Sandbox),
  });

/** Read again and again while someone looks at the proof. */
export const headQuery = (sandboxId: string) =>
  queryOptions({
    queryKey: ["sandbox-head", sandboxId] as const,
    queryFn: ({ signal }) => client.getSandbox({ params: { sandbox_id: sandboxId } }, { signal }),
    refetchInterval: 2_000,
    staleTime: 0,
  });

export const projectsQuery = queryOptions({
  queryKey: ["projects"] as const,
  queryFn: ({ signal }) => client.listProjects({ query: { limit: 500 } }, { signal }),
  staleTime: 60_000,
});

/** Looking takes a while: what was seen is good for a minute. */
export const providersQuery = queryOptions({
  queryKey: ["providers"] as const,
  queryFn: ({ signal }) => client.listProviders({}, { signal }),
  staleTime: 60_000,
});

export const whoamiQuery = queryOptions({
  queryKey: ["whoami"] as const,
  queryFn: ({ signal }) => client.whoami({}, { signal }),
  staleTime: 60_000,
});

export const upstreamsQuery = queryOptions({
  queryKey: ["upstreams"] as const,
  queryFn: ({ signal }) => client.listUpstreams({}, { signal }),
  staleTime: 30_000,
});

export const tokensQuery = queryOptions({
  queryKey: ["tokens"] as const,
  queryFn: ({ signal }) => client.listTokens({ query: { limit: 500 } }, { signal }),
});

/** The newest events of a sandbox that has been quiet for long, or does nothing but beat. */
export const lastEventsQuery = (sandboxId: string) =>
  queryOptions({
    queryKey: ["last-events", sandboxId] as const,
    queryFn: ({ signal }) =>
      client.getTrajectory({ params: { sandbox_id: sandboxId }, query: { limit: 40 } }, { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });

export const messagesQuery = (sandboxId: string) =>
  queryOptions({
    queryKey: ["messages", sandboxId] as const,
    queryFn: ({ signal }) =>
      client.listMessages({ params: { sandbox_id: sandboxId }, query: { limit: 500 } }, { signal }),
  });

export const fileDiffQuery = (sandboxId: string, eventId: string) =>
  queryOptions({
    queryKey: ["file-diff", sandboxId, eventId] as const,
    queryFn: ({ signal }) => client.getFileDiff({ params: { sandbox_id: sandboxId, event_id: eventId } }, { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });

/** Rewrites a sandbox wherever it is kept. */
export function changeSandboxes(change: (sandbox: Sandbox) => Sandbox): void {
  queryClient.setQueriesData<SandboxPages>({ queryKey: ["sandboxes"] }, (pages) => {
    if (pages === undefined) return pages;
    let isChanged = false;
    const next = pages.pages.map((page) => {
      const items = page.items.map(change);
      if (items.every((item, at) => item === page.items[at])) return page;
      isChanged = true;
      return { ...page, items };
    });
    return isChanged ? { ...pages, pages: next } : pages;
  });
}
