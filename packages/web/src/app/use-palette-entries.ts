/** What the palette offers: pages and actions from here, sandboxes and tickets as the server finds them. */
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import {
  Activity,
  Boxes,
  Columns2,
  CornerDownLeft,
  Keyboard,
  Link2,
  LogOut,
  MoonStar,
  Plus,
  Rows3,
  Settings2,
  SquareKanban,
  TicketPlus,
  type LucideIcon,
} from "lucide-react";
import { useState } from "react";
import { client } from "../data/client.ts";
import { toggleTheme, usePreferences } from "../data/preferences.ts";
import { toTitle } from "../data/sandbox-title.ts";
import { useMay } from "../data/use-may.ts";
import { notify } from "../ui/notify.ts";
import { TICKET_LOOKS } from "../work/badges.tsx";
import { ACTIONS, type ActionName } from "./actions.ts";
import { listHandled, runAction } from "./keys.ts";
import { PLACES } from "./places.ts";
import { rank } from "./rank.ts";
import { useLogout } from "./use-logout.ts";

export interface Entry {
  readonly id: string;
  readonly label: string;
  readonly note?: string;
  readonly icon: LucideIcon;
  readonly action?: ActionName;
  readonly run: () => void;
}

export interface EntryGroup {
  readonly title: string;
  readonly entries: readonly Entry[];
}

const SHOWN = 8;
const SHOWN_UNASKED = 4;

const MORE_PLACES = [
  { label: "List of tasks", to: "/tasks", search: { view: "list" } },
  { label: "Graph of tasks", to: "/tasks", search: { view: "graph" } },
  { label: "Failed sandboxes", to: "/sandboxes", search: { state: "failed" } },
  { label: "Guardian and interventions", to: "/monitor", search: { tab: "guardian" } },
  { label: "Alerts and their rules", to: "/monitor", search: { tab: "alerts" } },
  { label: "Anomalies", to: "/monitor", search: { tab: "anomalies" } },
  { label: "Stuck tickets and diagnoses", to: "/monitor", search: { tab: "stuck" } },
  { label: "Compare two runs", to: "/compare", search: {} },
  { label: "Conductor", to: "/monitor", search: { tab: "conductor" } },
  { label: "Keys and shortcuts", to: "/settings", search: { section: "keyboard" } },
  { label: "Notifications", to: "/settings", search: { section: "notifications" } },
  { label: "Projects", to: "/settings", search: { section: "projects" } },
  { label: "Providers", to: "/settings", search: { section: "providers" } },
  { label: "Models and prices", to: "/settings", search: { section: "models" } },
  { label: "Webhooks", to: "/settings", search: { section: "webhooks" } },
  { label: "People and tokens", to: "/settings", search: { section: "access" } },
] as const;

const ICONS = {
  "/tasks": SquareKanban,
  "/sandboxes": Boxes,
  "/monitor": Activity,
  "/settings": Settings2,
  "/compare": Columns2,
} as const;

function toggleDensity(): void {
  const density = usePreferences.getState().density === "compact" ? "comfortable" : "compact";
  usePreferences.setState({ density });
}

function usePlaces(): readonly Entry[] {
  const navigate = useNavigate();
  return [
    ...PLACES.map(({ to, label, icon, action }) => ({
      id: `page ${to}`,
      label,
      icon,
      action,
      run: () => void navigate({ to }),
    })),
    ...MORE_PLACES.map(({ label, to, search }) => ({
      id: `page ${label}`,
      label,
      icon: ICONS[to],
      run: () => void navigate({ to, search }),
    })),
  ];
}

function useActions(onHelp: () => void): readonly Entry[] {
  const navigate = useNavigate();
  const logout = useLogout();
  const mayOperate = useMay("operate");
  const copyLink = () =>
    void navigator.clipboard.writeText(location.href).then(
      () => notify.good("The address of this page is copied"),
      // Expected: the browser forbids it on a page without TLS.
      () => notify.bad("The browser does not let this page copy"),
    );
  return [
    ...(mayOperate
      ? [
          {
            id: "new sandbox",
            label: "New sandbox",
            icon: Plus,
            action: "create" as const,
            run: () => void navigate({ to: "/sandboxes/new" }),
          },
          {
            id: "new ticket",
            label: "New ticket",
            icon: TicketPlus,
            run: () => void navigate({ to: "/tasks", search: { new: true } }),
          },
        ]
      : []),
    {
      id: "theme",
      label: "Switch the theme, light or dark",
      icon: MoonStar,
      action: "theme",
      run: () => void toggleTheme(),
    },
    { id: "density", label: "Switch between compact and comfortable rows", icon: Rows3, run: toggleDensity },
    { id: "copy", label: "Copy the address of this page", icon: Link2, run: copyLink },
    { id: "help", label: "Keyboard shortcuts", icon: Keyboard, action: "help", run: onHelp },
    { id: "logout", label: "Log out", icon: LogOut, run: () => logout.mutate() },
  ];
}

/** Once the palette is gone and the focus is back where it was: many are about what has it. */
const AFTER_CLOSING_MS = 40;
/** Those that stand among pages and actions anyway, or only serve the hand on the keys. */
const UNLISTED: ReadonlySet<ActionName> = new Set(["palette", "help", "theme", "create", "close"]);

/** What the page that is open can do, as it says itself. */
function useHere(): readonly Entry[] {
  const [names] = useState(listHandled);
  return names
    .filter((name) => !UNLISTED.has(name) && !name.startsWith("go"))
    .map((name) => ({
      id: `here ${name}`,
      label: ACTIONS[name].label,
      icon: CornerDownLeft,
      ...(ACTIONS[name].keys === "" ? {} : { action: name }),
      run: () => void setTimeout(() => runAction(name), AFTER_CLOSING_MS),
    }));
}

/** The server looks for the words; without any it tells the newest. */
function useFound(typed: string): readonly EntryGroup[] {
  const navigate = useNavigate();
  const limit = typed === "" ? SHOWN_UNASKED : SHOWN;
  const query = { limit, ...(typed === "" ? {} : { q: typed }) };
  const sandboxes = useQuery({
    queryKey: ["palette", "sandboxes", typed] as const,
    queryFn: ({ signal }) => client.listSandboxes({ query }, { signal }),
    placeholderData: (before) => before,
  });
  const tickets = useQuery({
    queryKey: ["palette", "tickets", typed] as const,
    queryFn: ({ signal }) => client.listTickets({ query }, { signal }),
    placeholderData: (before) => before,
  });
  return [
    {
      title: "Sandboxes",
      entries: (sandboxes.data?.items ?? []).map((sandbox) => ({
        id: sandbox.id,
        label: toTitle(sandbox),
        note: sandbox.state,
        icon: Boxes,
        run: () => void navigate({ to: "/sandboxes/$sandboxId", params: { sandboxId: sandbox.id } }),
      })),
    },
    {
      title: "Tickets",
      entries: (tickets.data?.items ?? []).map((ticket) => ({
        id: ticket.id,
        label: ticket.title,
        note: TICKET_LOOKS[ticket.status].word ?? ticket.status,
        icon: SquareKanban,
        run: () => void navigate({ to: "/tasks/tickets/$ticketId", params: { ticketId: ticket.id } }),
      })),
    },
  ];
}

export function usePaletteEntries(typed: string, onHelp: () => void): readonly EntryGroup[] {
  const places = usePlaces();
  const actions = useActions(onHelp);
  const here = useHere();
  const found = useFound(typed.trim());
  const toName = (entry: Entry) => entry.label;
  const pages = { title: "Pages", entries: rank(places, toName, typed) };
  const acts = { title: "Actions", entries: rank(actions, toName, typed) };
  const own = { title: "On this page", entries: rank(here, toName, typed) };
  const groups = typed.trim() === "" ? [pages, acts, ...found, own] : [pages, ...found, acts, own];
  return groups.filter(({ entries }) => entries.length > 0);
}
