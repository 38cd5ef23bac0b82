/** What the pages of tickets, tasks and pull requests read. All of it is read again when the stream tells of work. */
import { queryOptions } from "@tanstack/react-query";
import { client } from "../data/client.ts";

const MOST = 500;

export const ticketsQuery = (projectId: string | undefined) =>
  queryOptions({
    queryKey: ["work", "tickets", projectId ?? ""] as const,
    queryFn: ({ signal }) =>
      client.listTickets(
        { query: { limit: MOST, ...(projectId === undefined ? {} : { project_id: projectId }) } },
        { signal },
      ),
  });

interface TaskFilter {
  readonly projectId?: string | undefined;
  readonly ticketId?: string | undefined;
}

export const tasksQuery = ({ projectId, ticketId }: TaskFilter) =>
  queryOptions({
    queryKey: ["work", "tasks", projectId ?? "", ticketId ?? ""] as const,
    queryFn: ({ signal }) =>
      client.listTasks(
        {
          query: {
            limit: MOST,
            ...(projectId === undefined ? {} : { project_id: projectId }),
            ...(ticketId === undefined ? {} : { ticket_id: ticketId }),
          },
        },
        { signal },
      ),
  });

export const ticketQuery = (ticketId: string) =>
  queryOptions({
    queryKey: ["work", "ticket", ticketId] as const,
    queryFn: ({ signal }) => client.getTicket({ params: { ticket_id: ticketId } }, { signal }),
  });

export const taskQuery = (taskId: string) =>
  queryOptions({
    queryKey: ["work", "task", taskId] as const,
    queryFn: ({ signal }) => client.getTask({ params: { task_id: taskId } }, { signal }),
  });

export const attemptsQuery = (taskId: string) =>
  queryOptions({
    queryKey: ["work", "attempts", taskId] as const,
    queryFn: ({ signal }) => client.listAttempts({ params: { task_id: taskId } }, { signal }),
  });

export const ticketGraphQuery = (ticketId: string) =>
  queryOptions({
    queryKey: ["work", "graph", "ticket", ticketId] as const,
    queryFn: ({ signal }) => client.getTicketGraph({ params: { ticket_id: ticketId }, query: {} }, { signal }),
  });

export const projectGraphQuery = (projectId: string) =>
  queryOptions({
    queryKey: ["work", "graph", "project", projectId] as const,
    queryFn: ({ signal }) => client.getProjectGraph({ params: { project_id: projectId }, query: {} }, { signal }),
  });

export const pullsQuery = (filter: { readonly ticketId?: string; readonly projectId?: string | undefined }) =>
  queryOptions({
    queryKey: ["work", "pulls", filter.projectId ?? "", filter.ticketId ?? ""] as const,
    queryFn: ({ signal }) =>
      client.listPulls(
        {
          query: {
            limit: 100,
            ...(filter.projectId === undefined ? {} : { project_id: filter.projectId }),
            ...(filter.ticketId === undefined ? {} : { ticket_id: filter.ticketId }),
          },
        },
        { signal },
      ),
  });

const LOOK_AGAIN_MS = 2_000;

export const pullQuery = (pullId: string) =>
  queryOptions({
    queryKey: ["work", "pull", pullId] as const,
    queryFn: ({ signal }) => client.getPull({ params: { pull_id: pullId } }, { signal }),
    // The host is still finding out whether it can be merged, and tells nobody when it has.
    refetchInterval: ({ state }) =>
      state.data?.state === "open" && state.data.mergeable === null ? LOOK_AGAIN_MS : false,
  });

export const ticketCommitsQuery = (ticketId: string) =>
  queryOptions({
    queryKey: ["work", "commits", ticketId] as const,
    queryFn: ({ signal }) => client.listTicketCommits({ params: { ticket_id: ticketId } }, { signal }),
  });

export const mergeAttemptsQuery = (ticketId: string) =>
  queryOptions({
    queryKey: ["work", "merge-attempts", ticketId] as const,
    queryFn: ({ signal }) => client.listMergeAttempts({ query: { ticket_id: ticketId, limit: 20 } }, { signal }),
  });
