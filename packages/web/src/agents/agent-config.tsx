/** How an agent is set up here: its package, whose models it asks and with which key, and the projects that take it. */
import type { AgentPackage } from "@drover/contract";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { formatBytes, formatDay } from "../data/format.ts";
import { projectsQuery, upstreamsQuery } from "../data/queries.ts";
import { useMay } from "../data/use-may.ts";
import { Section } from "../pages/section.tsx";
import { BUILT_IN } from "./built-in.ts";
import { VENDOR_OF, VENDORS } from "./vendors.ts";

const LINK = "font-medium text-live-ink underline underline-offset-2";

interface AgentConfigProps {
  readonly agentName: string;
  /** Undefined where nothing has to be installed. */
  readonly item: AgentPackage | undefined;
}

export function AgentConfig({ agentName, item }: AgentConfigProps) {
  const projects = useQuery(projectsQuery);
  const takers = projects.data?.items.filter(({ settings }) => settings.runtime === agentName) ?? [];
  return (
    <>
      <Section title="Package">
        {item === undefined ? (
          <p className="px-4 py-3 text-sm text-ink-2">
            {BUILT_IN.find(({ name }) => name === agentName)?.note ?? "A worker that somebody brought along."} Nothing
            is installed for it.
          </p>
        ) : (
          <dl>
            <Fact name="npm package">{item.npm_package}</Fact>
            <Fact name="version">{item.version}</Fact>
            <Fact name="on disk">{item.state === "installed" ? formatBytes(item.size_bytes) : item.state}</Fact>
            {item.installed_at !== null && <Fact name="since">{formatDay(item.installed_at)}</Fact>}
            {item.other_versions.length > 0 && <Fact name="other versions">{item.other_versions.join(", ")}</Fact>}
          </dl>
        )}
      </Section>
      <Models agentName={agentName} />
      <Section title="Projects that take it unless another is named">
        {takers.map(({ id, name, settings }) => (
          <p key={id} className="flex items-center gap-4 px-4 py-2.5 text-sm">
            <span className="min-w-0 flex-1 truncate">{name}</span>
            <code className="font-mono text-xs text-ink-3">{settings.model ?? "its own choice of model"}</code>
          </p>
        ))}
        <p className="px-4 py-2.5 text-xs text-ink-3">
          {projects.isSuccess && takers.length === 0 && "None. "}
          <Link to="/settings" search={{ section: "projects" }} className={LINK}>
            Settings of projects
          </Link>
        </p>
      </Section>
    </>
  );
}

/** Only admins may know where calls go. */
function Models({ agentName }: { readonly agentName: string }) {
  const mayAdminister = useMay("administer");
  const upstreams = useQuery({ ...upstreamsQuery, enabled: mayAdminister });
  const vendor = VENDOR_OF[agentName];
  if (vendor === undefined) return null;
  const upstream = upstreams.data?.items.find(({ protocol }) => protocol === vendor);
  return (
    <Section title="Models">
      <p className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2.5 text-sm">
        <span className="min-w-0 flex-1">
          {VENDORS[vendor]}
          {upstream !== undefined && (
            <span className={upstream.has_key ? "text-ink-3" : "text-wait-ink"}>
              {upstream.has_key
                ? `: key ${upstream.origin === "stored" ? "kept here" : "from the settings of the server"}`
                : ": no key yet"}
            </span>
          )}
        </span>
        {mayAdminister && (
          <Link to="/settings" search={{ section: "models" }} className={`text-xs ${LINK}`}>
            Keys and prices
          </Link>
        )}
      </p>
    </Section>
  );
}

const Fact = ({ name, children }: { readonly name: string; readonly children: ReactNode }) => (
  <div className="flex gap-4 px-4 py-1.5 text-xs first:pt-3 last:pb-3">
    <dt className="w-28 shrink-0 text-ink-3">{name}</dt>
    <dd className="min-w-0 font-mono break-all">{children}</dd>
  </div>
);
