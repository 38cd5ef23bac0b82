/** The monitor: the whole in figures and curves, the guardian, the conductor, and what was raised. */
import { Link, useSearch } from "@tanstack/react-router";
import { lazy, Suspense, type ComponentType } from "react";
import { MONITOR_TABS, parseMonitorSearch, type MonitorTab } from "../search-params.ts";
import { Boundary } from "../ui/boundary.tsx";
import { Page } from "../ui/page.tsx";
import { Problem } from "../ui/problem.tsx";
import { useCurrentInView } from "../ui/use-current-in-view.ts";

const TABS: Readonly<Record<MonitorTab, { readonly label: string; readonly view: ComponentType }>> = {
  overview: {
    label: "Overview",
    view: lazy(() => import("./overview-tab.tsx").then((module) => ({ default: module.OverviewTab }))),
  },
  guardian: {
    label: "Guardian",
    view: lazy(() => import("./guardian-tab.tsx").then((module) => ({ default: module.GuardianTab }))),
  },
  conductor: {
    label: "Conductor",
    view: lazy(() => import("./conductor-tab.tsx").then((module) => ({ default: module.ConductorTab }))),
  },
  anomalies: {
    label: "Anomalies",
    view: lazy(() => import("./anomalies-tab.tsx").then((module) => ({ default: module.AnomaliesTab }))),
  },
  alerts: {
    label: "Alerts",
    view: lazy(() => import("./alerts-tab.tsx").then((module) => ({ default: module.AlertsTab }))),
  },
  stuck: {
    label: "Stuck",
    view: lazy(() => import("./stuck-tab.tsx").then((module) => ({ default: module.StuckTab }))),
  },
  passes: {
    label: "Supervision",
    view: lazy(() => import("./passes-tab.tsx").then((module) => ({ default: module.PassesTab }))),
  },
};

export function MonitorPage() {
  const { tab = "overview" } = parseMonitorSearch(useSearch({ from: "/inside/monitor" }));
  const { label, view: View } = TABS[tab];
  const nav = useCurrentInView(tab);
  return (
    <Page title={tab === "overview" ? "Monitor" : `Monitor: ${label.toLowerCase()}`} width="wide">
      <nav
        ref={nav}
        aria-label="Monitor"
        className="-mx-4 -mb-2 flex gap-1 overflow-x-auto px-4 [scrollbar-width:none] md:mx-0 md:px-0"
      >
        {MONITOR_TABS.map((name) => (
          <Link
            key={name}
            to="/monitor"
            search={name === "overview" ? {} : { tab: name }}
            activeOptions={{ exact: true }}
            aria-current={name === tab ? "page" : undefined}
            className="inline-flex h-8 shrink-0 items-center rounded-full px-3 text-xs font-medium text-ink-2 hover:bg-hover aria-[current=page]:bg-solid aria-[current=page]:text-on-solid max-md:h-10"
          >
            {TABS[name].label}
          </Link>
        ))}
      </nav>
      <Boundary
        key={tab}
        fallback={(error, retry) => <Problem error={error} what={`${label} could not be shown`} onRetry={retry} />}
      >
        <Suspense fallback={<div className="skeleton h-72" role="status" aria-label={`Loading ${label}`} />}>
          <View />
        </Suspense>
      </Boundary>
    </Page>
  );
}
