/** Settings in sections, each with an address of its own. What a role may not see is not offered. */
import { Link, useSearch } from "@tanstack/react-router";
import { lazy, Suspense, type ComponentType } from "react";
import { useMay } from "../data/use-may.ts";
import { parseSettingsSearch, type SettingsSection } from "../search-params.ts";
import { Boundary } from "../ui/boundary.tsx";
import { Page } from "../ui/page.tsx";
import { Problem } from "../ui/problem.tsx";
import { useCurrentInView } from "../ui/use-current-in-view.ts";
import { Appearance } from "./appearance.tsx";

interface SectionEntry {
  readonly label: string;
  readonly view: ComponentType;
  readonly isForAdmins?: true;
}

const SECTIONS: Readonly<Record<SettingsSection, SectionEntry>> = {
  appearance: { label: "Appearance", view: Appearance },
  keyboard: {
    label: "Keyboard",
    view: lazy(() => import("./keyboard.tsx").then((module) => ({ default: module.Keyboard }))),
  },
  notifications: {
    label: "Notifications",
    view: lazy(() => import("./notifications.tsx").then((module) => ({ default: module.Notifications }))),
  },
  projects: {
    label: "Projects",
    view: lazy(() => import("./projects.tsx").then((module) => ({ default: module.Projects }))),
  },
  providers: {
    label: "Providers",
    view: lazy(() => import("./providers.tsx").then((module) => ({ default: module.Providers }))),
  },
  models: {
    label: "Models and prices",
    view: lazy(() => import("./models.tsx").then((module) => ({ default: module.Models }))),
    isForAdmins: true,
  },
  access: {
    label: "People and tokens",
    view: lazy(() => import("./tokens.tsx").then((module) => ({ default: module.Tokens }))),
    isForAdmins: true,
  },
  webhooks: {
    label: "Webhooks",
    view: lazy(() => import("./webhooks.tsx").then((module) => ({ default: module.Webhooks }))),
    isForAdmins: true,
  },
};

const NAMES = Object.keys(SECTIONS) as SettingsSection[];

export function SettingsPage() {
  const { section = "appearance" } = parseSettingsSearch(useSearch({ from: "/inside/settings" }));
  const mayAdminister = useMay("administer");
  const shown = NAMES.filter((name) => mayAdminister || SECTIONS[name].isForAdmins !== true);
  const current = SECTIONS[section];
  const View = current.view;
  const nav = useCurrentInView(`${section} of ${shown.length}`);
  return (
    <Page title="Settings" width="middle">
      <div className="grid gap-6 md:grid-cols-[11rem_minmax(0,1fr)] md:gap-10">
        <nav
          ref={nav}
          aria-label="Settings"
          className="-mx-4 flex gap-1 overflow-x-auto px-4 [scrollbar-width:none] md:sticky md:top-0 md:mx-0 md:flex-col md:self-start md:px-0"
        >
          {shown.map((name) => (
            <Link
              key={name}
              to="/settings"
              search={name === "appearance" ? {} : { section: name }}
              activeOptions={{ exact: true }}
              aria-current={name === section ? "page" : undefined}
              className="inline-flex h-9 shrink-0 items-center rounded-lg px-3 text-sm text-ink-2 hover:bg-hover aria-[current=page]:bg-live-soft aria-[current=page]:font-medium aria-[current=page]:text-live-ink"
            >
              {SECTIONS[name].label}
            </Link>
          ))}
        </nav>
        <div className="flex min-w-0 flex-col gap-8">
          {current.isForAdmins === true && !mayAdminister ? (
            <p className="text-sm text-ink-2">
              {current.label}: only an admin may look at this. Ask one, or log in as one.
            </p>
          ) : (
            <Boundary
              key={section}
              fallback={(error, retry) => (
                <Problem error={error} what={`${current.label} could not be shown`} onRetry={retry} />
              )}
            >
              <Suspense fallback={<div className="skeleton h-64" role="status" aria-label="Loading" />}>
                <View />
              </Suspense>
            </Boundary>
          )}
        </div>
      </div>
    </Page>
  );
}
