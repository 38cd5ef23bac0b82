/** Agents: which are here, which can be installed. */
import { useQuery } from "@tanstack/react-query";
import { Bot } from "lucide-react";
import { useEffect } from "react";
import { TopBar } from "../app/top-bar-slot.tsx";
import { Section } from "../pages/section.tsx";
import { Problem } from "../ui/problem.tsx";
import { PackageState, RemovePackage } from "./package-state.tsx";
import { packagesQuery } from "./queries.ts";

export function AgentsPage() {
  const packages = useQuery(packagesQuery);
  useEffect(() => {
    document.title = "Agents · Drover";
  }, []);
  return (
    <div className="h-full overflow-y-auto" tabIndex={-1}>
      <TopBar>
        <h1 className="text-base font-semibold tracking-tight">Agents</h1>
      </TopBar>
      <div className="mx-auto flex max-w-3xl flex-col gap-8 px-4 py-6 md:px-6">
        {packages.isError && (
          <Problem error={packages.error} what="The agents could not be read" onRetry={() => void packages.refetch()} />
        )}
        <Section title="Installed on demand">
          {packages.isPending && <div className="skeleton m-4 h-40" />}
          {packages.data?.items.map((item) => (
            <div
              key={item.name}
              className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-3"
              data-package={item.name}
            >
              <Bot size={18} aria-hidden className="shrink-0 text-ink-3" />
              <div className="min-w-0 flex-1">
                <p className="text-sm font-medium">{item.title}</p>
                <p className="truncate text-xs text-ink-3">
                  <code className="font-mono">
                    {item.npm_package}@{item.version}
                  </code>
                  {item.other_versions.length > 0 && ` · also ${item.other_versions.join(", ")}`}
                </p>
                {item.state === "failed" && item.detail !== null && (
                  <p className="mt-1 text-xs break-words text-fail-ink">{item.detail}</p>
                )}
              </div>
              <PackageState item={item} />
              <RemovePackage item={item} />
            </div>
          ))}
        </Section>
        <Section title="Always here">
          <div className="flex items-center gap-4 px-4 py-3">
            <Bot size={18} aria-hidden className="shrink-0 text-ink-3" />
            <div>
              <p className="text-sm font-medium">Scripted</p>
              <p className="text-xs text-ink-3">Plays the steps of a script: for demos and tests, without a model.</p>
            </div>
          </div>
        </Section>
      </div>
    </div>
  );
}
