/** What a run's page knows beside its log, kept in step with it. */
import { TERMINAL_SANDBOX_STATES } from "@drover/contract";
import { foldSandbox } from "@drover/contract/views";
import { useEffect, useRef } from "react";
import { clearConnection, useConnection } from "../data/connection.ts";
import { queryClient, sandboxQuery } from "../data/queries.ts";
import type { RunSnapshot } from "../data/run-store.ts";
import { session } from "../data/session.ts";

/** The sandbox as it was read, carried forward by the events of its log. */
export function useKeptTrue(sandboxId: string, run: RunSnapshot): void {
  const events = run.log?.events;
  useEffect(() => {
    if (events === undefined || events.length === 0) return;
    queryClient.setQueryData(sandboxQuery(sandboxId).queryKey, (sandbox) => {
      if (sandbox === undefined) return sandbox;
      let from = events.length;
      while (from > 0 && (events[from - 1]?.seq ?? 0) > sandbox.last_seq) from -= 1;
      return events.slice(from).reduce(foldSandbox, sandbox);
    });
  }, [sandboxId, events]);
}

/** What a provider made is noted beside the log: each step that the log tells of is a reason to look, until it is known. */
export function useLookAtSteps(sandboxId: string, run: RunSnapshot): void {
  const events = run.log?.events;
  const looked = useRef(0);
  useEffect(() => {
    const { queryKey } = sandboxQuery(sandboxId);
    const sandbox = queryClient.getQueryData(queryKey);
    if (sandbox === undefined || sandbox.enforced_by !== null || TERMINAL_SANDBOX_STATES.has(sandbox.state)) return;
    const last = events?.findLast((event) => event.event_type === "sandbox.provisioning")?.seq ?? 0;
    if (last <= looked.current) return;
    looked.current = last;
    void queryClient.invalidateQueries({ queryKey });
  }, [sandboxId, events]);
}

export function useConnectionOf(sandboxId: string, run: RunSnapshot, wake: () => void): void {
  const { log } = run;
  const phase = log?.state.phase;
  useEffect(() => {
    if (phase === "unauthenticated") session.onLost();
  }, [phase]);
  useEffect(() => {
    if (log === undefined) return;
    const { head, holesHealed, duplicatesDropped, reconnects } = log.stats;
    useConnection.setState((old) => ({
      state: log.state,
      run: { sandboxId, head, gaps: holesHealed, isComplete: log.isComplete },
      reconnects,
      duplicates: duplicatesDropped,
      lastEventAt: old.run !== undefined && old.run.head === head ? old.lastEventAt : Date.now(),
      wake,
    }));
  }, [sandboxId, log, wake]);
  useEffect(() => clearConnection, []);
}
