/** A run that stands still until a person answers says so beside its state: `running` alone would hide it. */
import type { Sandbox } from "@drover/contract";
import { useQuery } from "@tanstack/react-query";
import { Hand } from "lucide-react";
import { openRequestsQuery } from "../wall/needs.ts";

const MAY_ASK: ReadonlySet<Sandbox["state"]> = new Set(["running", "completing"]);

/** The queue of what waits, which is on every page, has read the requests already: nothing is asked for here. */
export function useWaits({ id, state, state_cause: cause }: Pick<Sandbox, "id" | "state" | "state_cause">): boolean {
  const open = useQuery({ ...openRequestsQuery(id), enabled: false }).data?.items ?? [];
  return state === "paused" ? cause === "budget" : MAY_ASK.has(state) && open.length > 0;
}

export function WaitMark({ sandbox }: { readonly sandbox: Pick<Sandbox, "id" | "state" | "state_cause"> }) {
  if (!useWaits(sandbox)) return null;
  return (
    <span
      data-waits
      title="It stands still until somebody answers"
      className="inline-flex h-6 shrink-0 items-center gap-1.5 rounded-full bg-wait-soft pr-2.5 pl-2 text-xs font-semibold whitespace-nowrap text-wait-ink"
    >
      <Hand size={13} strokeWidth={2.4} aria-hidden /> waits for you
    </span>
  );
}
