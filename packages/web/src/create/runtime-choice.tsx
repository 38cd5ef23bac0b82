/** Which agent works: those that are here, and those that can be, with the way to get them. */
import type { AgentPackage } from "@drover/contract";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useId } from "react";
import { PackageState } from "../agents/package-state.tsx";
import { packagesQuery } from "../agents/queries.ts";
import { VENDOR_OF, VENDORS } from "../agents/vendors.ts";
import { upstreamsQuery, whoamiQuery } from "../data/queries.ts";
import { cx } from "../ui/class-names.ts";

interface RuntimeChoiceProps {
  readonly value: string;
  readonly complaint: string | undefined;
  readonly onChange: (runtime: string) => void;
}

interface Choosable {
  readonly name: string;
  readonly title: string;
  readonly note: string;
  readonly item?: AgentPackage;
}

const BUILT_IN: readonly Choosable[] = [
  { name: "openhands", title: "OpenHands", note: "An agent server of yours, over its own protocol" },
  { name: "scripted", title: "Scripted", note: "Plays a script; needs no model" },
];

const NOTES: Readonly<Record<AgentPackage["state"], (item: AgentPackage) => string>> = {
  absent: () => "not installed",
  failed: () => "could not be installed",
  installing: (item) => `installing, ${item.progress_percent ?? 0}%`,
  installed: (item) => item.version,
};

/** Only admins may know where calls go; everybody else is told by the first call. */
function MissingKey({ runtime }: { readonly runtime: string }) {
  const whoami = useQuery(whoamiQuery);
  const upstreams = useQuery({ ...upstreamsQuery, enabled: whoami.data?.role === "admin" });
  const vendor = VENDOR_OF[runtime];
  const upstream = upstreams.data?.items.find(({ protocol }) => protocol === vendor);
  if (vendor === undefined || upstream === undefined || upstream.origin !== "none") return null;
  return (
    <div
      role="status"
      className="flex flex-wrap items-center gap-3 rounded-lg border border-wait/50 bg-wait-soft px-3 py-2 text-xs text-wait-ink"
    >
      <span className="min-w-0 flex-1">The server has no key for {VENDORS[vendor]}'s models yet.</span>
      <Link to="/settings" search={{ section: "models" }} className="font-medium underline underline-offset-2">
        Add it in the settings
      </Link>
    </div>
  );
}

export function RuntimeChoice({ value, complaint, onChange }: RuntimeChoiceProps) {
  const name = useId();
  const packages = useQuery(packagesQuery);
  const choices: readonly Choosable[] = [
    ...(packages.data?.items ?? []).map((item) => ({
      name: item.name,
      title: item.title,
      note: NOTES[item.state](item),
      item,
    })),
    ...BUILT_IN,
  ];
  const chosen = choices.find((choice) => choice.name === value)?.item;
  const isMissing = chosen !== undefined && chosen.state !== "installed";
  return (
    <fieldset className="flex min-w-0 flex-col gap-2">
      <legend className="mb-1.5 text-sm font-medium">Agent</legend>
      <div className="grid gap-2 sm:grid-cols-2 lg:grid-cols-3">
        {choices.map((choice) => (
          <label
            key={choice.name}
            className={cx(
              "relative flex min-h-14 cursor-pointer items-center gap-3 rounded-xl border px-3 py-2 has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-live",
              choice.name === value ? "border-live bg-live-soft" : "border-line bg-surface hover:border-line-strong",
            )}
          >
            <input
              type="radio"
              name={name}
              value={choice.name}
              checked={choice.name === value}
              onChange={() => onChange(choice.name)}
              className="size-3.5 shrink-0 accent-live-ink"
            />
            <span className="min-w-0 flex-1">
              <span className="block truncate text-sm font-medium">{choice.title}</span>
              <span className="block truncate text-2xs text-ink-3">{choice.note}</span>
            </span>
          </label>
        ))}
        {packages.isPending && Array.from({ length: 4 }, (_, n) => <div key={n} className="skeleton h-14" />)}
      </div>
      {isMissing && (
        <div
          role="status"
          className="flex flex-wrap items-center gap-3 rounded-lg border border-wait/50 bg-wait-soft px-3 py-2 text-xs text-wait-ink"
        >
          <span className="min-w-0 flex-1">
            {chosen.title} is not on this machine yet.
            {chosen.detail !== null && chosen.state === "failed" && ` ${chosen.detail}`}
          </span>
          <PackageState item={chosen} />
        </div>
      )}
      <MissingKey runtime={value} />
      {complaint !== undefined && <p className="text-xs break-words text-fail-ink">{complaint}</p>}
    </fieldset>
  );
}
