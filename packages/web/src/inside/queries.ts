/** What the tabs of a run read from inside its sandbox. */
import { queryOptions } from "@tanstack/react-query";
import { client } from "../data/client.ts";
import { readTextFile } from "./read-text-file.ts";

export const recordingsQuery = (sandboxId: string) =>
  queryOptions({
    queryKey: ["recordings", sandboxId] as const,
    queryFn: ({ signal }) =>
      client.listRecordings({ params: { sandbox_id: sandboxId }, query: { limit: 100 } }, { signal }),
  });

export const castQuery = (sandboxId: string, artifactId: string) =>
  queryOptions({
    queryKey: ["cast", sandboxId, artifactId] as const,
    queryFn: async ({ signal }) =>
      (await client.getArtifact({ params: { sandbox_id: sandboxId, artifact_id: artifactId } }, { signal })).text(),
    staleTime: Number.POSITIVE_INFINITY,
  });

export const filesQuery = (sandboxId: string, path: string) =>
  queryOptions({
    queryKey: ["files", sandboxId, path] as const,
    queryFn: ({ signal }) => client.listFiles({ params: { sandbox_id: sandboxId }, query: { path } }, { signal }),
    staleTime: 0,
  });

export const fileQuery = (sandboxId: string, path: string) =>
  queryOptions({
    queryKey: ["file", sandboxId, path] as const,
    queryFn: async ({ signal }) =>
      readTextFile(await client.readFile({ params: { sandbox_id: sandboxId }, query: { path } }, { signal })),
    staleTime: 0,
  });

export type SandboxGit = Awaited<ReturnType<typeof client.getSandboxGit>>;

const GIT_EVERY_MS = 15_000;

/** Git tells nobody: what an agent commits is seen by looking. */
export const gitQuery = (sandboxId: string, isOver: boolean) =>
  queryOptions({
    queryKey: ["git", sandboxId] as const,
    queryFn: ({ signal }) => client.getSandboxGit({ params: { sandbox_id: sandboxId } }, { signal }),
    staleTime: 0,
    refetchInterval: isOver ? false : GIT_EVERY_MS,
  });

export const logsQuery = (sandboxId: string) =>
  queryOptions({
    queryKey: ["worker-log", sandboxId] as const,
    queryFn: ({ signal }) => client.readLogs({ params: { sandbox_id: sandboxId }, query: {} }, { signal }),
    staleTime: 0,
  });
