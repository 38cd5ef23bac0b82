/** The guardian's last word about a run that works, where there was one lately. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ShieldAlert } from "lucide-react";
import { formatAge } from "../data/format.ts";
import { useNow } from "../data/now.ts";
import { interventionsQuery } from "../monitor/queries.ts";

const LATELY_MS = 30 * 60_000;
const WORDS = { note: "noted", nudge: "nudged", ask: "asks you", pause: "paused it", stop: "stopped it" } as const;

export function GuardianMark({ sandboxId }: { readonly sandboxId: string }) {
  const now = useNow();
  const last = useQuery({
    ...interventionsQuery,
    select: (page) => page.items.find((one) => one.sandbox_id === sandboxId && one.rung !== "note"),
  }).data;
  if (last === undefined || now - Date.parse(last.created_at) > LATELY_MS) return null;
  return (
    <Link
      to="/monitor"
      search={{ tab: "guardian" }}
      title={last.reason}
      data-guardian={last.rung}
      className="relative z-10 inline-flex items-center gap-1 rounded whitespace-nowrap text-xs text-mind hover:underline"
    >
      <ShieldAlert size={13} aria-hidden />
      <span className="sr-only">Guardian </span>
      {WORDS[last.rung]} {formatAge(now - Date.parse(last.created_at))}
    </Link>
  );
}
